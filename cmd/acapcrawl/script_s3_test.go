package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
)

// buckets is the key of the object stores of a script, by name.
type buckets struct{}

// cmdBucket makes an object store, changes it, or writes its objects into a file.
func cmdBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 3 {
		ts.Fatalf("usage: bucket NAME [versioning WORD | fails WORD | list FILE]")
	}
	all := ts.Value(buckets{}).(map[string]*fakes3.Server)
	if len(args) == 1 {
		s, end := fakes3.Serve()
		ts.Defer(end)
		all[args[0]] = s
		ts.Setenv(args[0], s.URL)
		return
	}
	s := all[args[0]]
	switch args[1] {
	case "versioning":
		s.Change(func() { s.Versioning = args[2] })
	case "fails": // always, for bodies, or never
		s.Change(func() {
			s.Fail = func(w http.ResponseWriter, _ *http.Request, object string) bool {
				fails := args[2] == "always" || args[2] == "bodies" && strings.Contains(object, "/bodies/")
				if fails {
					w.WriteHeader(http.StatusForbidden)
				}
				return fails
			}
		})
	case "list":
		var b strings.Builder
		objects := s.Objects()
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			fmt.Fprintf(&b, "%s %s\n", name, strings.ReplaceAll(string(objects[name]), "\n", " "))
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b.String()), 0o600))
	default:
		ts.Fatalf("bucket: %s is unknown", args[1])
	}
}
