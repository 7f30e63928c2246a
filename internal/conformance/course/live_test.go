package course

import (
	"os/exec"
	"testing"
	"time"
)

// Installed crawlers visit the course: the judge finds the requirements that they are known to
// violate, and no violation of those that they keep.
func TestLive(t *testing.T) {
	for _, tc := range []struct {
		program        string
		args           []string
		violated, kept []string
	}{
		{"wget", []string{"-q", "-r", "-l", "6", "--tries=1", "-T", "10", "-H"},
			[]string{"robots-first", "wildcard", "end", "redirect", "redirect-chain", "acap-any", "acap-named",
				"acap-scope", "acap-follow", "acap-meta", "acap-class", "reference", "reference-lost"},
			[]string{"large", "plain", "longest", "own-group", "image", "meta", "conventional"}},
		{"wget2", []string{"-q", "-r", "-l", "6", "--tries=1", "-T", "10", "-H"},
			[]string{"acap-any", "acap-named", "acap-scope", "acap-follow", "acap-meta", "acap-class", "reference",
				"reference-lost"},
			[]string{"large", "plain", "meta", "conventional"}},
	} {
		t.Run(tc.program, func(t *testing.T) {
			program, err := exec.LookPath(tc.program)
			if err != nil {
				t.Skipf("%s is not installed", tc.program)
			}
			s, err := Serve(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, tc.args...)
			for _, o := range Seeds() {
				cmd.Args = append(cmd.Args, s.URL(o)+"/")
			}
			cmd.Dir, cmd.WaitDelay = t.TempDir(), 10*time.Second
			out, err := cmd.CombinedOutput() // its exit status reports failed requests, which are expected
			if _, exited := err.(*exec.ExitError); err != nil && !exited {
				t.Fatalf("%v: %s", err, out)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := Judge(t.Context(), s.Visits(), Told{Protocols: Protocols()})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Visitors) != 1 {
				t.Fatalf("%d visitors", len(r.Visitors))
			}
			got := map[string]Result{}
			for _, res := range r.Visitors[0].Results {
				got[res.ID] = res
			}
			for want, ids := range map[Outcome][]string{Violated: tc.violated, Kept: tc.kept} {
				for _, id := range ids {
					if res := got[id]; res.Outcome != want {
						t.Errorf("%s is %s (%s %v), want %s", id, res.Outcome, res.Why, res.Evidence, want)
					}
				}
			}
			if sign := r.Visitors[0].ACAP.Sign; sign != "" {
				t.Errorf("it is said to read ACAP: %s", sign)
			}
		})
	}
}
