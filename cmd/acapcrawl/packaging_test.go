package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// The services call verbs that exist, with arguments that these verbs accept.
func TestServicesCallVerbs(t *testing.T) {
	units, err := filepath.Glob(filepath.Join(root, "packaging/systemd/*.service"))
	if err != nil || len(units) != 3 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		call := regexp.MustCompile(`(?m)^ExecStart=acapcrawl (.*)$`).FindSubmatch(text)
		if call == nil {
			t.Errorf("%s does not start acapcrawl", unit)
			continue
		}
		words := strings.Fields(strings.ReplaceAll(string(call[1]), "$SEEDS", "https://example.com/"))
		verb, args, err := (&Command{}).root().Find(words)
		if err == nil && verb.Args != nil {
			err = verb.Args(verb, args)
		}
		if want := "acapcrawl-" + words[0] + ".service"; err != nil || filepath.Base(unit) != want {
			t.Errorf("%s calls %q: %v", unit, words, err)
		}
	}
}

// systemd finds no mistake in the units.
func TestUnitsAreValid(t *testing.T) {
	const system = "usr/lib/systemd/system"
	program, err := exec.LookPath("systemd-analyze")
	if _, missing := os.Stat("/" + system + "/sysinit.target"); err != nil || missing != nil {
		t.Skip("systemd is not installed")
	}
	dir := t.TempDir()
	units := filepath.Join(dir, system)
	for _, d := range []string{units, filepath.Join(dir, "usr/bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `cp -a "$1"/. "$3" && cp -r "$2"/acapcrawl-* "$3" && printf '#!/bin/sh\n' | tee "$4/acapcrawl" >"$4/sh" &&
		chmod 755 "$4"/*`
	copied := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", "/"+system,
		filepath.Join(root, "packaging/systemd"), units, filepath.Join(dir, "usr/bin"))
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "verify", "--man=no", "--root="+dir,
		"acapcrawl-crawl.service", "acapcrawl-crawl.timer", "acapcrawl-watch.service",
		"acapcrawl-serve.service").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// Every environment variable in the files of packages is a setting.
func TestPackagedSettings(t *testing.T) {
	known := []string{fileVariable}
	for _, key := range config.Keys() {
		known = append(known, config.Variable(key))
	}
	for _, name := range []string{"packaging/environment", "packaging/Dockerfile",
		"packaging/systemd/acapcrawl-.service.d/10-common.conf", "docs/install.md"} {
		variables := regexp.MustCompile(`\bACAPCRAWL_[A-Z0-9_]+`).FindAllString(read(t, name), -1)
		if len(variables) == 0 {
			t.Errorf("%s sets nothing", name)
		}
		for _, v := range variables {
			if !slices.Contains(known, v) {
				t.Errorf("%s has %s, which is not a setting", name, v)
			}
		}
	}
}

// The changelog says what is in the version of the program.
func TestChangelog(t *testing.T) {
	newest := regexp.MustCompile(`(?m)^## \[(.*?)\]`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if newest == nil || newest[1] != "Unreleased" && newest[1] != site.Version {
		t.Errorf("the first version in CHANGELOG.md is %q, not %s", newest, site.Version)
	}
}

// The container is built with the version of Go that go.mod demands or a later patch of it, and runs the program as a
// user who is not root and who owns the volume.
func TestDockerfile(t *testing.T) {
	file := read(t, "packaging/Dockerfile")
	find := func(text, pattern string) string {
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("nothing matches %s", pattern)
		}
		return m[1]
	}
	demanded, used := find(read(t, "go.mod"), `^go (1\.\d+)\.`), find(file, `^FROM golang:(\d+\.\d+)\.\d+ `)
	if demanded != used {
		t.Errorf("go.mod demands Go %s, and the container is built with %s", demanded, used)
	}
	user := find(file, `^USER ([1-9]\d*:[1-9]\d*)$`)
	data := find(file, `^ENV ACAPCRAWL_DATA=(.*)$`)
	if find(file, `^VOLUME (.*)$`) != data || find(file, `--chown=`+user+` \S+ (`+data+`)$`) != data {
		t.Errorf("the data directory %s is not a volume of the user %s", data, user)
	}
}
