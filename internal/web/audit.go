package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// Entry is a line of the audit log: who did what in the browser. It holds no secret.
type Entry struct {
	Time    time.Time `json:"time"`
	What    string    `json:"what"` // Login, FailedLogin, Logout, Submitted or Withdrew
	Role    view.Role `json:"role,omitempty"`
	Name    string    `json:"name,omitempty"`    // name of the user; of a failed login it is not recorded
	Client  string    `json:"client"`            // address of the client
	Node    string    `json:"node,omitempty"`    // the machine in whose ledger the action request is; "": the only one
	Request uint64    `json:"request,omitempty"` // ID of the action request
}

// About returns the name of the action request, "" if the entry is about none.
func (e Entry) About() string {
	if e.Request == 0 {
		return ""
	}
	return actions.Name(e.Node, e.Request)
}

// The values of Entry.What.
const (
	Login       = "login"
	FailedLogin = "failed login"
	Logout      = "logout"
	Submitted   = "submitted"
	Withdrew    = "withdrew"
)

// maxAudit is the size in bytes at which a file of the audit log is renamed and a new one begins.
// The file before that is deleted.
const maxAudit = 1 << 20

// Audit is the audit log. Failed logins have files of their own, so that their number, which anybody can increase,
// removes no other entries. The methods may be called concurrently. Only one process may write to the log.
type Audit struct{ changes, failures entries }

// entries is a file of JSON Lines that only grows, and the file before it.
type entries struct {
	path string
	size int64 // the size at which the file is renamed
	mu   sync.Mutex
}

// NewAudit returns the audit log in the file at path, which Append makes if it does not exist. Failed logins are in
// another file next to it: a.jsonl → a-failures.jsonl.
func NewAudit(path string) *Audit {
	kind := filepath.Ext(path)
	return &Audit{entries{path: path, size: maxAudit},
		entries{path: strings.TrimSuffix(path, kind) + "-failures" + kind, size: maxAudit}}
}

// Append adds an entry to the log.
func (a *Audit) Append(e Entry) error {
	if e.What == FailedLogin {
		return a.failures.append(e)
	}
	return a.changes.append(e)
}

// Last returns up to n failed logins and up to n other entries, the newest first.
func (a *Audit) Last(n int) ([]Entry, error) {
	list, err := a.changes.last(n)
	if err != nil {
		return nil, err
	}
	failed, err := a.failures.last(n)
	list = append(list, failed...)
	slices.SortStableFunc(list, func(a, b Entry) int { return b.Time.Compare(a.Time) })
	return list, err
}

// formerPath returns the name that the file gets when it is full: a.jsonl → a.1.jsonl.
func (a *entries) formerPath() string {
	kind := filepath.Ext(a.path)
	return strings.TrimSuffix(a.path, kind) + ".1" + kind
}

// append adds an entry to the file.
func (a *entries) append(e Entry) (err error) {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if is, err := os.Stat(a.path); err == nil && is.Size() >= a.size {
		if err := disk.Rename(a.path, a.formerPath()); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// last returns up to n entries, the newest first. It skips lines that are not entries, such as a
// line that a crash cut off.
func (a *entries) last(n int) ([]Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Entry
	for _, path := range []string{a.formerPath(), a.path} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var e Entry
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				all = append(all, e)
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	slices.Reverse(all)
	return all[:min(n, len(all))], nil
}

// record adds an entry about r to the audit log, if there is one. It sets time, user and client of the entry.
func (s *Server) record(r *http.Request, e Entry, in session) error {
	if s.o.Audit == nil {
		return nil
	}
	e.Time, e.Role, e.Name, e.Client = s.o.Now().UTC(), in.role, in.name, s.address(r)
	if ip, ok := addressOf(e.Client); ok {
		e.Client = ip.String()
	}
	return s.o.Audit.Append(e)
}
