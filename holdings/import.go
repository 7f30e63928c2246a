package holdings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/acapcrawl/acapcrawl/coding"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// ImportOptions say how records are taken in.
type ImportOptions struct {
	Policies terms.Policies               // whose word counts, without a request; nil: Options.Known
	Normal   func(string) (string, error) // the form in which addresses are held; nil: as they are
	MaxBody  int64                        // longest body, in bytes
}

// Outcome is what became of a record.
type Outcome string

// The outcomes of records that could hold a page. Those of other kinds are counted alone.
const (
	TakenIn Outcome = "imported"
	Already Outcome = "held"    // the same capture is held already
	Barred  Outcome = "refused" // by policy
	Unfit   Outcome = "skipped" // it holds no page, or none that can be kept
	Broken  Outcome = "damaged"
)

// Imported says what became of one record.
type Imported struct {
	Offset  int64   `json:"offset"`
	URL     string  `json:"url,omitempty"`
	Outcome Outcome `json:"outcome"`
	Version int     `json:"version,omitempty"` // of the capture that was made
	Why     string  `json:"why,omitempty"`     // a clause, where none was made
	Line    string  `json:"line,omitempty"`    // the line that decided, if one did

	Cuts []string `json:"cuts,omitempty"` // as in a Receipt
}

// ImportCounts count what an import did.
type ImportCounts struct {
	Records   int   `json:"records"`   // read, of all kinds
	Imported  int   `json:"imported"`  // captures made
	Held      int   `json:"held"`      // captures that were held already
	Redirects int   `json:"redirects"` // kept, or held already
	Refused   int   `json:"refused"`
	Skipped   int   `json:"skipped"`
	Damaged   int   `json:"damaged"`
	Cut       int   `json:"cut"`   // captures made of which some was not kept, read or indexed
	Bytes     int64 `json:"bytes"` // of the bodies taken in, as sent
}

// The bounds of what is judged at a time.
const (
	importBatch = 64
	importBytes = 16 << 20
	longestHead = 1 << 20 // of a message, in bytes; a longer request is not kept
)

// Import takes in the pages of a WARC file as captures of the past, under the policies of now: what
// they prohibit to crawl or to preserve is refused, and so is what no policy is known for. A
// capture that is later than the last crawl becomes the current one and is indexed as it may be;
// first dates go back to those of the file. It makes no request. Told is called for every record
// that could hold a page and for every one that is damaged, in the order of the file; it may be
// nil. What was told is durable. Import may be repeated: what is held already stays as it is.
// Memory grows by about 150 bytes for each body, and less for each request other than GET.
func (h *Holdings) Import(ctx context.Context, file io.Reader, o ImportOptions, told func(Imported)) (ImportCounts,
	error) {
	if o.Policies == nil {
		o.Policies = h.o.Known
	}
	if o.Normal == nil {
		o.Normal = func(s string) (string, error) { return s, nil }
	}
	if told == nil {
		told = func(Imported) {}
	}
	m := &importer{Holdings: h, ctx: ctx, o: o, told: told, decoders: coding.NewDecoders(), urls: map[string]bool{},
		taken:   map[string]uint64{},
		methods: methods{h.seed, map[uint64]string{}}}
	err := m.read(warc.NewReader(file))
	if m.counts.Imported > 0 { // whoever searches next finds it
		err = errors.Join(err, h.indexer.drain())
	}
	return m.counts, err
}

// importer is one import.
type importer struct {
	*Holdings
	ctx      context.Context
	o        ImportOptions
	told     func(Imported)
	decoders *coding.Decoders
	counts   ImportCounts

	asked   *question   // the request that waits for its answer
	open    *incoming   // the answer that waits for its request or metadata
	chain   []*incoming // redirects that lead to what comes next
	loose   [][2]string // redirects, each with where it leads
	methods methods

	batch []*incoming
	urls  map[string]bool // of the batch
	bytes int64           // likewise

	mu    sync.Mutex
	taken map[string]uint64 // labelled payload digest → a capture that has it
}

// read reads the file to its end, past what is broken.
func (m *importer) read(in *warc.Reader) error {
	for {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		rec, err := in.Next()
		var damage *warc.Damage
		switch {
		case err == io.EOF:
			return errors.Join(m.finish(), m.flush(), m.connect())
		case errors.As(err, &damage):
			m.add(&incoming{result: Imported{Offset: damage.Offset, Outcome: Broken, Why: "the record " + damage.What}})
		case err != nil:
			return fmt.Errorf("the file cannot be read: %w", err)
		default:
			m.counts.Records++
			if err := m.record(rec); err != nil {
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

// broken tells of a record that is damaged.
func (m *importer) broken(rec *warc.Record, what string) {
	m.add(&incoming{result: Imported{Offset: rec.Offset, URL: rec.Target(), Outcome: Broken, Why: what}})
}

// add puts a record into the batch, after those that must be done before it.
func (m *importer) add(x *incoming) {
	m.batch = append(m.batch, x)
	m.bytes += x.size()
	for _, hop := range x.hops {
		m.bytes += hop.size()
	}
	if x.url != "" {
		m.urls[x.url] = true
	}
}

// size is what an answer takes up in memory, in bytes.
func (x *incoming) size() int64 {
	n := len(x.payload) + len(x.message.Head)
	if x.request != nil {
		n += len(x.request.head)
	}
	return int64(n)
}

// flush takes in the batch, several records at a time: they share their writes to the disk.
func (m *importer) flush() error {
	errs := make([]error, len(m.batch))
	var wg sync.WaitGroup
	for i, x := range m.batch {
		if x.result.Outcome == "" {
			wg.Go(func() { errs[i] = m.takeSafely(x) })
		}
	}
	wg.Wait()
	for i, x := range m.batch {
		if errs[i] != nil {
			return fmt.Errorf("the record of %s at offset %d could not be taken in: %w", x.url, x.result.Offset,
				errs[i])
		}
		m.count(x)
		m.told(x.result)
	}
	m.batch, m.bytes = m.batch[:0], 0
	clear(m.urls)
	return nil
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
	case Unfit:
		m.counts.Skipped++
	case Broken:
		m.counts.Damaged++
	}
}
