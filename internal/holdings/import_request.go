package holdings

import (
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/warc"
)

// question is a request record.
type question struct {
	id, target string
	concurrent []string
	method     string
	head       []byte
}

// isRequestOf reports whether q is the request that x answers.
func (q *question) isRequestOf(x *incoming) bool {
	if q == nil || x == nil || x.request != nil {
		return false
	}
	return q.names(x) || len(q.concurrent) == 0 && len(x.concurrent) == 0 && q.target == x.target
}

// names reports whether q or x names the other record in WARC-Concurrent-To.
func (q *question) names(x *incoming) bool {
	return slices.Contains(q.concurrent, x.id) || slices.Contains(x.concurrent, q.id)
}

// notGET returns why a response to q is not a page. The method of q must not be GET.
func (q *question) notGET() string { return "it answers " + q.method + ", not GET" }

// longestMethod is how many bytes are read, to find the method, of a request that is too long to be
// stored.
const longestMethod = 32

// methods holds the methods other than GET of all requests read so far, keyed by hashes of the
// record IDs of the requests and of their responses.
type methods struct {
	seed maphash.Seed
	by   map[uint64]string
}

func (m methods) request(id string) uint64 { return maphash.String(m.seed, "request "+id) }
func (m methods) answer(id string) uint64  { return maphash.String(m.seed, "answer "+id) }

func (m methods) note(q *question) {
	if q.method == http.MethodGet || q.method == "" {
		return
	}
	method := strings.Clone(q.method[:min(len(q.method), longestMethod)])
	m.by[m.request(q.id)] = method
	for _, id := range q.concurrent {
		m.by[m.answer(id)] = method
	}
}

// of returns the method of the request for x if it is known and not GET; otherwise "".
func (m methods) of(x *incoming) string {
	if method := m.by[m.answer(x.id)]; method != "" {
		return method
	}
	for _, id := range x.concurrent {
		if method := m.by[m.request(id)]; method != "" {
			return method
		}
	}
	return ""
}

// readRequest reads a request record, and stores the request for the response to which it belongs.
func (m *importer) readRequest(rec *warc.Record) error {
	m.asked = nil
	q := &question{id: rec.ID(), target: rec.Target(), concurrent: rec.Concurrent()}
	if rec.Length > longestHead {
		begins, _ := io.ReadAll(io.LimitReader(rec.Block, longestMethod))
		q.method, _, _ = strings.Cut(string(begins), " ")
	} else {
		block, err := m.readBlock(rec)
		if block == nil {
			return err
		}
		message, parsed := warc.ParseMessage(block)
		switch wrong := rec.Check(block, message.Body); {
		case wrong != "":
			m.reportDamage(rec, wrong)
			return nil
		case parsed != nil:
			return nil
		}
		q.method, q.head = message.Method(), warc.Complete(message.Head)
	}
	m.methods.note(q)
	for _, x := range m.batch {
		if q.method != http.MethodGet && q.names(x) {
			x.skip(q.notGET())
		}
	}
	if q.isRequestOf(m.open) {
		m.open.request = q
		return nil
	}
	m.asked = q
	return m.finishResponse()
}
