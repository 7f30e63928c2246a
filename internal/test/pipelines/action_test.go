// Package pipelines tests what runs acapcrawl check in the pipelines of publishers: the GitHub
// Action of action.yml and the hook of .pre-commit-hooks.yaml, as docs/ci.md uses them.
package pipelines

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// The contents of a robots.txt with a finding, of one without, and of one with a permission that
// ends with the year 2030.
const (
	flawed  = "User-agent: *\nDisallow /drafts/\n"
	sound   = "User-agent: *\nDisallow: /drafts/\n"
	expires = "ACAP-crawler: *\nACAP-allow-index: / time-limit=until-2030-12-31\n"
)

// action is an action.yml. An unknown key is an error, because a job could not obey it.
type action struct {
	Name, Description string
	Branding          map[string]string
	Inputs            map[string]struct{ Description, Default string }
	Runs              struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, Shell, Run string
	Env              map[string]string
}

// job runs steps in the way a runner of GitHub does.
type job struct {
	t         *testing.T
	workspace string   // the checkout of a site
	temp      string   // the temporary directory of the job
	env       []string // the environment of each step
	path      []string // PATH: what steps added to it comes first
}

// newJob returns a job with settings for its own Go module, and with another program named
// acapcrawl in its PATH.
func newJob(t *testing.T) *job {
	t.Helper()
	dir := t.TempDir()
	j := &job{t: t, workspace: filepath.Join(dir, "my site"), temp: filepath.Join(dir, "temp"),
		path: []string{filepath.Join(dir, "bin"), os.Getenv("PATH")}}
	for _, name := range []string{j.workspace, j.temp, j.path[0]} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(j.path[0], "acapcrawl"), []byte("#!/bin/sh\nexit 99\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	j.env = append(goEnv(t), "HOME="+dir, "GITHUB_ACTION_PATH="+top, "GITHUB_WORKSPACE="+j.workspace,
		"RUNNER_TEMP="+j.temp, "GOFLAGS=-mod=vendor", "GOWORK=/none/go.work")
	return j
}

// goEnv returns the variables with which the go command works without the network.
func goEnv(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(dirs) != 2 {
		t.Fatal(err, dirs)
	}
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1], "GOPROXY=off", "CGO_ENABLED=0",
		"TMPDIR=" + os.TempDir()}
}

// write writes a file of the site.
func (j *job) write(name, text string) {
	j.t.Helper()
	file := filepath.Join(j.workspace, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		j.t.Fatal(err)
	}
}

// run runs a step in whose variables the expressions are already replaced by their values.
func (j *job) run(s step) (output string, status int) {
	j.t.Helper()
	if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
		j.t.Fatalf("%s: the shell is %q; and values must be passed in env, because run is a program", s.Name, s.Shell)
	}
	script, paths := filepath.Join(j.temp, "step.sh"), filepath.Join(j.temp, "paths")
	if err := errors.Join(os.WriteFile(script, []byte(s.Run), 0o644), os.WriteFile(paths, nil, 0o644)); err != nil {
		j.t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		j.t.Skip("left out: there is no bash")
	}
	cmd := exec.CommandContext(j.t.Context(), bash, "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = j.workspace
	cmd.Env = append(slices.Clone(j.env), "PATH="+strings.Join(j.path, string(filepath.ListSeparator)),
		"GITHUB_PATH="+paths)
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
		j.t.Fatal(err)
	}
	added, err := os.ReadFile(paths)
	if err != nil {
		j.t.Fatal(err)
	}
	for line := range strings.Lines(string(added)) {
		j.path = slices.Insert(j.path, 0, strings.TrimSuffix(line, "\n"))
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// uses runs the steps of the action with the given inputs, until one fails.
func (j *job) uses(with map[string]string) (output string, status int) {
	j.t.Helper()
	var a action
	decodeFile(j.t, "action.yml", &a)
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		j.t.Fatalf("action.yml: %+v", a)
	}
	for name := range with {
		if _, declared := a.Inputs[name]; !declared {
			j.t.Fatalf("the action has no input %s", name)
		}
	}
	for _, s := range a.Runs.Steps {
		for name, text := range s.Env {
			s.Env[name] = regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllStringFunc(text, func(expression string) string {
				input, is := strings.CutPrefix(strings.Trim(expression, "${} "), "inputs.")
				declared, known := a.Inputs[input]
				if !is || !known {
					j.t.Fatalf("%s: %s has no value here", s.Name, expression)
				}
				if given, is := with[input]; is {
					return given
				}
				return declared.Default
			})
		}
		out, status := j.run(s)
		if output += out; status != 0 {
			return output, status
		}
	}
	return output, 0
}

// decodeFile reads a YAML file of the project into v, which must have a field for every key.
func decodeFile(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// The action checks the named files, and fails with the exit status of check. Later steps can run
// the program.
func TestAction(t *testing.T) {
	j := newJob(t)
	for _, name := range []string{"robots.txt", "public/robots.txt", "$(touch made)/*/robots.txt", "-flag.txt"} {
		j.write(name, sound)
	}
	j.write("two words/robots.txt", flawed)
	j.write("expires.txt", expires)
	j.write("public/index.html", "<!DOCTYPE html><html lang=en><title>Tidewick</title><p>News of the quay.</p></html>")
	for name, c := range map[string]struct {
		with   map[string]string
		output string // a regular expression
		status int
	}{
		"default": {nil, `^$`, 0},
		"finding": {map[string]string{"files": "robots.txt\ntwo words/robots.txt\n"},
			`^::warning file=two words/robots.txt,line=2,endLine=2,col=1,endColumn=9,title=missing-colon::.*\n$`, 1},
		"odd names": {map[string]string{"files": "$(touch made)/*/robots.txt\n\n-flag.txt\n"}, `^$`, 0},
		"missing":   {map[string]string{"files": "none.txt"}, `^Error: none.txt cannot be read: `, 2},
		"no file":   {map[string]string{"files": "\n"}, `takes files or URLs`, 2},
		"flags": {map[string]string{"files": "expires.txt",
			"args": "--as-of 2031-01-01T00:00:00Z  --crawler\nexamplebot"}, `title=expired-permission::`, 1},
		"other flags": {map[string]string{"files": "expires.txt", "args": "--as-of=2030-01-01T00:00:00Z"}, `^$`, 0},
		"pattern":     {map[string]string{"args": "--as *"}, `^Error: --as: "\*" is not one of `, 2},
		"format": {map[string]string{"files": "two words/robots.txt", "args": "--format sarif -o robots.sarif"},
			`^$`, 1},
	} {
		if out, status := j.uses(c.with); status != c.status || !regexp.MustCompile(c.output).MatchString(out) {
			t.Errorf("%s: status %d, want %d: %s", name, status, c.status, out)
		}
	}
	j.documentedUses()
	if _, err := os.Stat(filepath.Join(j.workspace, "made")); err == nil {
		t.Error("a file name was executed")
	}
	if _, err := os.Stat(filepath.Join(j.workspace, "robots.sarif")); err != nil {
		t.Error(err)
	}
	out, status := j.run(step{Shell: "bash", Run: "acapcrawl version"})
	if status != 0 || !strings.HasPrefix(out, "acapcrawl ") {
		t.Errorf("a later step: status %d: %s", status, out)
	}
}

// documentedUses runs the action as docs/ci.md uses it.
func (j *job) documentedUses() {
	used := 0
	for _, block := range documented(j.t) {
		for _, with := range usesOf(block) {
			used++
			if out, status := j.uses(with); status != 0 {
				j.t.Errorf("docs/ci.md: %v: status %d: %s", with, status, out)
			}
		}
	}
	if used == 0 {
		j.t.Error("docs/ci.md does not use the action")
	}
}

// Without Go the action says what to do.
func TestActionWithoutGo(t *testing.T) {
	j := newJob(t)
	j.path = j.path[:1]
	out, status := j.uses(nil)
	if status != 4 || !strings.HasPrefix(out, "::error::") || !strings.Contains(out, "actions/setup-go") {
		t.Errorf("status %d: %s", status, out)
	}
}

// documented returns the YAML blocks of docs/ci.md.
func documented(t *testing.T) (blocks []any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1) {
		var block any
		if err := yaml.Unmarshal(m[1], &block); err != nil {
			t.Fatalf("%v: %s", err, m[1])
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// usesOf returns the inputs of each step in a YAML value that uses the action.
func usesOf(v any) (list []map[string]string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, usesOf(e)...)
		}
	case map[string]any:
		if name, _ := v["uses"].(string); strings.HasPrefix(name, "acapcrawl/acapcrawl@") {
			with := map[string]string{}
			given, _ := v["with"].(map[string]any)
			for name, value := range given {
				with[name], _ = value.(string)
			}
			return append(list, with)
		}
		for _, e := range v {
			list = append(list, usesOf(e)...)
		}
	}
	return list
}
