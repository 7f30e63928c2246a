// Package scripts runs the test TestScript of cmd/acapcrawl, as a package of its own: go test gives each package 10
// minutes, and on a slow machine all tests of cmd/acapcrawl together need more.
package scripts

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"
)

const module = "../../.."

func TestScripts(t *testing.T) {
	watchSources(t)
	main, dir := filepath.Join(module, "cmd", "acapcrawl"), t.TempDir()
	build := []string{"test", "-c", "-o", dir + string(filepath.Separator)}
	if hasRaceDetector() {
		build = append(build, "-race")
	}
	run(t, main, "go", build...)
	binary, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(binary) != 1 {
		t.Fatal(binary, err)
	}
	var limit time.Duration // none
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end) - 10*time.Second
	}
	run(t, main, binary[0], "-test.run", "^TestScript$", "-test.timeout", limit.String(),
		"-test.short="+strconv.FormatBool(testing.Short()))
}

// run runs a program in dir. It fails the test with what the program prints if that fails.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// hasRaceDetector reports whether go test -race runs.
func hasRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// watchSources reads the folders of the module. go test notes that, so that it does not take an earlier result from its
// cache after a file has changed.
func watchSources(t *testing.T) {
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
