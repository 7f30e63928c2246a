package holdings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// ImportOptions selects how records are imported.
type ImportOptions struct {
	Policies terms.Policies               // policies to apply, without requests; nil means Options.Known
	Normal   func(string) (string, error) // returns the form in which an address is stored; nil means unchanged
	MaxBody  int64                        // greatest length of a body, in bytes
	// import also what the operator has erased since it was fetched, see Holdings.Forget
	Forgotten bool
	// shared by the imports of several files, which ImportRevisits ends; nil: only this file is imported
	Revisits *Revisits
}

// Outcome is the result of importing one record.
type Outcome string

// These are the outcomes of records that could contain a page. Records of other kinds are only
// counted.
const (
	TakenIn Outcome = "imported"
	Already Outcome = "held"      // the same capture is already stored
	Barred  Outcome = "refused"   // prohibited by policy
	Forgot  Outcome = "forgotten" // erased by the operator since it was fetched
	Unfit   Outcome = "skipped"   // contains no page, or none that can be stored
	Broken  Outcome = "damaged"
)

// Imported is the result of importing one record.
type Imported struct {
	Offset  int64   `json:"offset"`
	URL     string  `json:"url,omitempty"`
	Outcome Outcome `json:"outcome"`
	Version int     `json:"version,omitempty"` // version of the new capture
	Why     string  `json:"why,omitempty"`     // why no capture was made, as a clause; "" if one was made
	Line    string  `json:"line,omitempty"`    // the policy line that decided; "" if no line did

	Cuts []string `json:"cuts,omitempty"` // what was too large, as in Receipt.Cuts
	// why the rendered document was not stored with the capture, as a clause; "" if it was, or if there is none
	Unrendered string `json:"unrendered,omitempty"`
}

// ImportCounts counts what an import did.
type ImportCounts struct {
	Records   int   `json:"records"`   // records read, of all kinds
	Imported  int   `json:"imported"`  // new captures
	Held      int   `json:"held"`      // captures that were already stored
	Redirects int   `json:"redirects"` // redirects, new or already stored
	Refused   int   `json:"refused"`
	Forgotten int   `json:"forgotten"` // captures that the operator has erased since they were fetched
	Skipped   int   `json:"skipped"`
	Damaged   int   `json:"damaged"`
	Cut       int   `json:"cut"`   // new captures that were not completely stored, read or indexed
	Bytes     int64 `json:"bytes"` // bytes of the imported bodies, as sent
}

// These limits apply to the records that are imported at the same time, and to the heads of HTTP
// messages.
const (
	importBatch = 64
	importBytes = 16 << 20
	longestHead = 1 << 20 // greatest length of a message head, in bytes; a longer request is not stored
)

// Import stores the pages of a WARC file as past captures, under today's policies. It refuses pages
// that these policies prohibit to crawl or to preserve, and pages whose policy is not known. It
// makes no request. A capture later than the last crawl becomes the current one, and is indexed if
// it may be. The first dates of a page are replaced by dates in the file if these are earlier. A
// conversion record with HTML that follows its response is stored as the rendered document of the page, unless a
// resource is taken down from which, according to a metadata record of Export, scripts made this document.
//
// Import calls told for every record that could contain a page and for every damaged record, in the
// order of the file; told may be nil. Revisit records that come before the payload that they repeat
// follow at the end, see ImportRevisits. A result is durable when told receives it. Import may be
// repeated: captures already stored stay unchanged. Import needs about 150 bytes of memory per
// body, and fewer bytes per request with a method other than GET.
func (h *Holdings) Import(ctx context.Context, file io.Reader, o ImportOptions, told func(Imported)) (ImportCounts,
	error) {
	alone := o.Revisits == nil
	m := h.newImporter(ctx, o, told)
	err := errors.Join(m.read(warc.NewReader(file)), m.drain())
	if !alone || err != nil {
		return m.counts, err
	}
	o.Revisits = m.revisits
	rest, err := h.ImportRevisits(ctx, o)
	m.counts.Add(rest)
	return m.counts, err
}

// importer is the state of one import.
type importer struct {
	*Holdings
	ctx      context.Context
	o        ImportOptions
	told     func(Imported)
	decoders *coding.Decoders
	counts   ImportCounts

	asked   *question   // a request whose response has not been read yet
	open    *incoming   // a response whose request or metadata may still follow in the file
	chain   []*incoming // redirects that end at the next response
	loose   [][2]string // redirects of the file, each as its address and its target
	methods methods

	batch []*incoming
	urls  map[string]bool // addresses in the batch, and those to which its revisit records refer
	bytes int64           // bytes in the batch

	revisits *Revisits
	last     bool // no further record is read, so no revisit record waits for its payload

	mu    sync.Mutex
	times versionTimes
}

// read imports the records of the file, skipping damaged ones.
func (m *importer) read(in *warc.Reader) error {
	for {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		rec, err := in.Next()
		var damage *warc.Damage
		switch {
		case err == io.EOF:
			return errors.Join(m.finishResponse(), m.flush(), m.recordRedirects())
		case errors.As(err, &damage):
			m.add(&incoming{result: Imported{Offset: damage.Offset, Outcome: Broken, Why: "the record " + damage.What}})
		case err != nil:
			return fmt.Errorf("the file cannot be read: %w", err)
		default:
			m.counts.Records++
			if err := m.readRecord(rec); err != nil {
				return err
			}
		}
		if len(m.batch) >= importBatch || m.bytes >= importBytes {
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
}

// reportDamage reports a damaged record.
func (m *importer) reportDamage(rec *warc.Record, what string) {
	m.add(&incoming{result: Imported{Offset: rec.Offset, URL: rec.Target(), Outcome: Broken, Why: what}})
}

// add appends a record to the batch.
func (m *importer) add(x *incoming) {
	m.batch = append(m.batch, x)
	m.bytes += x.size()
	for _, hop := range x.hops {
		m.bytes += hop.size()
	}
	if x.url != "" {
		m.urls[x.url] = true
	}
	if at, err := m.o.Normal(x.refersURL); x.revisit && err == nil {
		m.urls[at] = true
	}
}

// size returns how many bytes of memory x needs.
func (x *incoming) size() int64 {
	n := len(x.payload) + len(x.message.Head) + len(x.rendered)
	if x.request != nil {
		n += len(x.request.head)
	}
	for _, source := range slices.Concat(x.made, x.ran) {
		n += len(source)
	}
	return int64(n)
}

// flush imports the batch, several records at a time, so that they share writes to the disk.
func (m *importer) flush() error {
	errs := make([]error, len(m.batch))
	m.revisits.find(m.batch)
	var wg sync.WaitGroup
	for i, x := range m.batch {
		if x.result.Outcome == "" {
			wg.Go(func() { errs[i] = m.importSafely(x) })
		}
	}
	wg.Wait()
	for i, x := range m.batch {
		if errs[i] != nil {
			return fmt.Errorf("the record of %s at offset %d could not be imported: %w", x.url, x.result.Offset,
				errs[i])
		}
		m.finish(x)
	}
	m.batch, m.bytes = m.batch[:0], 0
	clear(m.urls)
	return nil
}

// finish reports the result of a record, unless the record waits for its payload.
func (m *importer) finish(x *incoming) {
	if x.waits && m.revisits.keep(x, m.told) {
		return
	}
	if x.waits {
		x.skip("it is a revisit of a capture that is not stored yet, and too many others wait for theirs: " +
			"import the file again")
	}
	switch x.result.Outcome {
	case Barred, Forgot, Unfit:
		m.revisits.refuse(x)
	}
	m.count(x)
	if x.told != nil {
		x.told(x.result)
	} else {
		m.told(x.result)
	}
}

// Add adds the counts of another import to n.
func (n *ImportCounts) Add(o ImportCounts) {
	n.Records += o.Records
	n.Imported += o.Imported
	n.Held += o.Held
	n.Redirects += o.Redirects
	n.Refused += o.Refused
	n.Forgotten += o.Forgotten
	n.Skipped += o.Skipped
	n.Damaged += o.Damaged
	n.Cut += o.Cut
	n.Bytes += o.Bytes
}

func (m *importer) count(x *incoming) {
	if x.redirect && (x.result.Outcome == TakenIn || x.result.Outcome == Already) {
		m.counts.Redirects++
		return
	}
	switch x.result.Outcome {
	case TakenIn:
		m.counts.Imported++
		if len(x.result.Cuts) > 0 {
			m.counts.Cut++
		}
		m.counts.Bytes += int64(len(x.payload))
	case Already:
		m.counts.Held++
	case Barred:
		m.counts.Refused++
	case Forgot:
		m.counts.Forgotten++
	case Unfit:
		m.counts.Skipped++
	case Broken:
		m.counts.Damaged++
	}
}
