package actions

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// absent is an Eraser of an archive in which nothing is stored, and everything was once.
type absent struct{}

func (absent) Erase(context.Context, string, string, string) (int, error) { return 1, nil }
func (absent) Holds(string) (bool, error)                                 { return true, nil }
func (absent) Verify(string, time.Time) (Evidence, error) {
	return Evidence{Erased: Erasure{Captures: 1}, Settled: true}, nil
}

func testLedger(t *testing.T, name string) *Ledger {
	t.Helper()
	l, err := Open(filepath.Join(t.TempDir(), name), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v, err := l.Verify(context.Background())
		if err != nil || len(v.Breaks) > 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// announced returns the only request that a ledger announces after an entry, and the last entry.
func announced(t *testing.T, l *Ledger, after uint64) (Announced, uint64) {
	t.Helper()
	list, head, err := l.Announced(after)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0], head
}

// TestAdopt checks how a ledger notes what another one announces, in order and again.
func TestAdopt(t *testing.T) {
	here, there := testLedger(t, "here"), testLedger(t, "there")
	const page = "http://a.example/a.html"
	adopt := func(a Announced, order, want uint64) {
		t.Helper()
		if id, err := there.Adopt(a.Announcement, order, false); err != nil || id != want {
			t.Errorf("adopted as %d, want %d, %v", id, want, err)
		}
	}
	standing := func(l *Ledger) (stands bool) {
		t.Helper()
		if err := l.Each(Filter{}, func(r Request) error {
			stands = stands || r.Standing
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return stands
	}
	r, _, err := here.Submit(Submission{Action: acap.TakeDown, URL: page})
	if err != nil {
		t.Fatal(err)
	}
	down, head := announced(t, here, 0)
	if _, err := here.Withdraw(r.ID, nil); err != nil {
		t.Fatal(err)
	}
	up, _ := announced(t, here, head)
	if down.Key() != up.Key() || !down.Standing || up.Standing {
		t.Fatalf("%+v, %+v", down, up)
	}
	adopt(up, 1, 0) // nothing is known of it
	adopt(down, 2, 1)
	adopt(down, 2, 1)
	if !standing(there) {
		t.Error("the request is not in force")
	}
	adopt(up, 3, 1)
	if standing(there) {
		t.Error("the withdrawn request is in force")
	}
	adopt(down, 4, 2)
	adopt(up, 4, 2) // an order that is older than what is known
	if !standing(there) {
		t.Error("the request is not in force after an old withdrawal")
	}
	own := testLedger(t, "own")
	if _, _, err := own.Submit(Submission{Action: acap.TakeDown, URL: page}); err != nil {
		t.Fatal(err)
	}
	if id, err := own.Adopt(up.Announcement, 5, false); err != nil || id != 0 || !standing(own) {
		t.Errorf("a withdrawal that does not know the request: %d, %v", id, err)
	}
	late, _, err := own.Announced(0) // it is published, but this ledger has not heard of that
	if err != nil || len(late) != 1 {
		t.Fatal(late, err)
	}
	if _, err := own.Withdraw(late[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if id, err := own.Adopt(late[0].Announcement, 6, true); err != nil || id != 0 || standing(own) {
		t.Errorf("the own announcement of a request that was withdrawn since: %d, %v", id, err)
	}
	lost := testLedger(t, "lost") // of a data directory that was lost: the order is all that is left of the request
	if id, err := lost.Adopt(late[0].Announcement, 6, true); err != nil || id == 0 || !standing(lost) {
		t.Errorf("the own announcement in a new ledger: %d, %v", id, err)
	}
}

// TestAdoptRecrawl checks that a re-crawl that another machine has done is done.
func TestAdoptRecrawl(t *testing.T) {
	l := testLedger(t, "ledger")
	a := Announcement{Action: acap.ReCrawl, URL: "http://a.example/a.html", Origin: "http://a.example", Kind: Operator,
		Text: recrawlText, Asked: time.Now(), Standing: true, State: Due}
	id, err := l.Adopt(a, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Standing, a.State, a.Done, a.Status = false, Done, time.Now(), 200
	if again, err := l.Adopt(a, 2, false); err != nil || again != id {
		t.Errorf("%d, %v", again, err)
	}
	list, err := l.these([]uint64{id})
	if err != nil || len(list) != 1 || list[0].State != Done || list[0].Status != 200 || list[0].open() {
		t.Errorf("%+v, %v", list, err)
	}
}

// recrawlText is the text of a re-crawl of the operator.
const recrawlText = acap.ReCrawl + byOperator

// TestReceiptListsNodes checks that requests and receipts list which machines have executed a take-down, and that they
// are written again when that changes.
func TestReceiptListsNodes(t *testing.T) {
	l := testLedger(t, "ledger")
	position := uint64(0)
	l.UseNodes(func(order uint64) (done, pending []string) {
		if done = []string{"a"}; position >= order {
			return append(done, "b"), nil
		}
		return done, []string{"b"}
	})
	r, _, err := l.Submit(Submission{Action: acap.TakeDown, URL: "http://a.example/a.html"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetOrder(r.ID, 7); err != nil {
		t.Fatal(err)
	}
	x := NewExecutor(l, absent{}, nil, Limits{})
	if _, err := x.Execute(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if err := x.Compacted(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	receipt := func() (out Receipt, fields map[string]json.RawMessage) {
		t.Helper()
		doc, known, err := l.Receipt(r.ID)
		if err != nil || !known {
			t.Fatal(known, err)
		}
		if out, err = l.VerifyReceipt(doc); err != nil {
			t.Fatal(err)
		}
		var whole struct{ Receipt map[string]json.RawMessage }
		if err := json.Unmarshal(doc, &whole); err != nil {
			t.Fatal(err)
		}
		return out, whole.Receipt
	}
	is, fields := receipt()
	if !slices.Equal(is.NodesDone, []string{"a"}) || !slices.Equal(is.NodesPending, []string{"b"}) {
		t.Errorf("%+v", is.Spread)
	}
	if string(fields["nodes_done"]) != `["a"]` || string(fields["nodes_pending"]) != `["b"]` {
		t.Errorf("%s", fields)
	}
	if st, err := l.Status(); err != nil || st.Open != 1 || st.Due != 0 || !st.Erased.IsZero() {
		t.Errorf("%+v, %v", st, err)
	}
	position = 7
	for range 2 {
		if err := l.NoteNodes(); err != nil {
			t.Fatal(err)
		}
	}
	is, fields = receipt()
	if !slices.Equal(is.NodesDone, []string{"a", "b"}) || string(fields["nodes_pending"]) != `[]` || is.Gone.IsZero() {
		t.Errorf("%+v", is)
	}
	if st, err := l.Status(); err != nil || st.Open != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
