package actions

import (
	"fmt"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Expired idempotency keys are deleted. Therefore the number of stored keys is not much larger than
// the number of keys used within keysFor.
func TestKeysAreForgotten(t *testing.T) {
	d := newDesk(t, Options{})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "first")
	kept := func() (n int) {
		if err := d.view(func(t *txn) error {
			n = t.tx.Bucket(bKeys).Stats().KeyN
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	d.clock.pass(keysFor - time.Second)
	if _, replayed, err := d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: site + "/x",
		Key: "first"}); err != nil || !replayed {
		t.Errorf("within its time: %t, %v", replayed, err)
	}
	d.clock.pass(time.Second)
	if _, replayed, err := d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: site + "/x",
		Key: "first"}); err != nil || replayed {
		t.Errorf("after its time: %t, %v", replayed, err)
	}
	const each = 100
	most := 0
	for n := range 5 * each {
		if n%each == 0 {
			d.ours, _ = authenticated(t, d)
		}
		d.submit(t, d.ours, acap.TakeDown, site+"/x", fmt.Sprint(n))
		d.clock.pass(keysFor / each)
		most = max(most, kept())
	}
	if most > 2*each {
		t.Errorf("%d keys are kept where %d are known", most, each)
	}
}

// authenticated returns a credential that is valid for some time, and its token.
func authenticated(t *testing.T, d *desk) (*Credential, string) {
	t.Helper()
	token, _, err := d.AddCredential(fmt.Sprint("later", d.clock.now.Unix()), []string{site}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Authenticate(token)
	if err != nil {
		t.Fatal(err)
	}
	return &c, token
}

// If a credential is revoked, requests of that credential that wait for confirmation are refused.
// Executed requests do not change.
func TestRevokeWhatWaits(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	_, other, err := d.AddCredential("second", []string{site}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	waiting := d.submit(t, d.ours, acap.TakeDown, site+"/x", "a")
	its := d.submit(t, &other, acap.TakeDown, site+"/y", "b")
	if _, err := d.RevokeCredential("quay"); err != nil {
		t.Fatal(err)
	}
	if r := d.get(t, waiting.ID); r.State != Refused || r.Standing || r.Why == "" {
		t.Errorf("%+v", r)
	}
	if r := d.get(t, its.ID); r.State != Seen {
		t.Errorf("of another credential: %+v", r)
	}
	if did := d.work(t, down+"/x"); did != "" {
		t.Errorf("its line alone did %q", did)
	}
	direct := openAt(t, d.path+".direct", Options{Now: d.clock.Now})
	token, _, err := direct.AddCredential("quay", []string{site}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	by, err := direct.Authenticate(token)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := direct.Submit(Submission{By: &by, Action: acap.TakeDown, URL: site + "/x", Key: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := direct.RevokeCredential("quay"); err != nil {
		t.Fatal(err)
	}
	if r, _, err := direct.Get(r.ID); err != nil || r.State != Due || !r.Standing {
		t.Errorf("what waits for nothing: %+v, %v", r, err)
	}
}

// Status counts the requests in the list of open requests.
func TestStatusCounts(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	began := d.clock.now
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "a")
	d.clock.pass(time.Minute)
	d.submit(t, nil, acap.TakeDown, site+"/y", "")
	d.clock.pass(time.Minute)
	d.submit(t, nil, acap.ReCrawl, site+"/z", "")
	want := Status{Open: 3, Due: 2, Waiting: 1, TakeDown: began.Add(time.Minute).UTC()}
	if got, err := d.Status(); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
