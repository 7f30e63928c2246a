package pipelines

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// hook is an entry of .pre-commit-hooks.yaml.
type hook struct {
	ID, Name, Description, Language, Entry, Files string
	RequireSerial                                 bool `yaml:"require_serial"`
}

// theHook returns the only hook.
func theHook(t *testing.T) hook {
	t.Helper()
	var hooks []hook
	if decodeFile(t, ".pre-commit-hooks.yaml", &hooks); len(hooks) != 1 {
		t.Fatalf("%d hooks", len(hooks))
	}
	return hooks[0]
}

// The hook is for files named robots.txt. Its command takes their names, and fails if there is a
// finding.
func TestHook(t *testing.T) {
	h := theHook(t)
	files := regexp.MustCompile(h.Files)
	for name, want := range map[string]bool{"robots.txt": true, "public site/robots.txt": true,
		"docs/my-robots.txt": false, "robots.txt.orig": false, "robotsxtxt": false} {
		if files.MatchString(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
	j := newJob(t)
	j.write("robots.txt", sound)
	j.write("two words/robots.txt", flawed)
	if out, status := j.uses(nil); status != 0 { // puts the program into PATH
		t.Fatalf("status %d: %s", status, out)
	}
	for args, want := range map[string]int{"robots.txt": 0, "robots.txt 'two words/robots.txt'": 1} {
		out, status := j.run(step{Shell: "bash", Run: h.Entry + " " + args})
		if status != want || !strings.Contains(out, "robots.txt, read as robots: ") {
			t.Errorf("%s: status %d, want %d: %s", args, status, want, out)
		}
	}
}

// pre-commit installs the hook of this work tree as docs/ci.md says, and prevents a commit with a
// finding.
func TestPreCommit(t *testing.T) {
	if os.Getenv("ACAPCRAWLTEST_PRECOMMIT") == "" {
		t.Skip("left out: pre-commit builds all programs, which takes a minute; ACAPCRAWLTEST_PRECOMMIT=1 runs this")
	}
	for _, program := range []string{"pre-commit", "git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("left out: there is no %s", program)
		}
	}
	g := newCheckout(t)
	g.git("add", "-A")
	if out, err := g.command("pre-commit", "install").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := g.commit(); err != nil || !regexp.MustCompile(`acapcrawl check\.+Passed`).MatchString(out) {
		t.Fatalf("%v: %s", err, out)
	}
	g.write("two words/robots.txt", flawed)
	g.git("add", "-A")
	out, err := g.commit()
	if err == nil || !strings.Contains(out, "\ntwo words/robots.txt:2:1: warning: ") ||
		strings.Contains(out, "public/robots.txt") {
		t.Errorf("%v: %s", err, out)
	}
	g.write("two words/robots.txt", sound+"Disallow: /members/\n")
	g.git("add", "-A")
	if out, err := g.commit(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// checkout is a git repository of a site.
type checkout struct {
	*job
}

// newCheckout returns the repository of a site with the configuration in docs/ci.md. It refers to a
// copy of this work tree instead of the published repository.
func newCheckout(t *testing.T) checkout {
	t.Helper()
	g := checkout{newJob(t)}
	g.env = append(g.env, "PATH="+os.Getenv("PATH"), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "PRE_COMMIT_HOME="+
			filepath.Join(g.temp, "pre-commit"))
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		g.env = append(g.env, "GIT_"+who+"_NAME=Tester", "GIT_"+who+"_EMAIL=tester@example.com")
	}
	source := checkout{&job{t: t, workspace: filepath.Join(g.temp, "source"), env: g.env}}
	source.copyWorkTree()
	source.git("init", "-q")
	source.git("add", "-A")
	if out, err := source.commit(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	g.write(".pre-commit-config.yaml", configuration(t, source.workspace, source.git("rev-parse", "HEAD")))
	g.write("public/robots.txt", sound)
	g.write("two words/robots.txt", sound)
	g.git("init", "-q")
	return g
}

// copyWorkTree copies the files of this work tree that git does not ignore.
func (g checkout) copyWorkTree() {
	list, err := exec.CommandContext(g.t.Context(), "git", "-C", root, "ls-files", "-z", "-c", "-o",
		"--exclude-standard").Output()
	if err != nil {
		g.t.Skipf("left out: the source is not in a git repository: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) { // removed, but not committed
			continue
		}
		if err != nil {
			g.t.Fatal(err)
		}
		g.write(name, string(text))
	}
}

// configuration returns the configuration in docs/ci.md, with another repository and commit.
func configuration(t *testing.T, repository, commit string) string {
	t.Helper()
	for _, block := range documented(t) {
		config, _ := block.(map[string]any)
		repos, _ := config["repos"].([]any)
		if len(repos) != 1 {
			continue
		}
		repo := repos[0].(map[string]any)
		repo["repo"], repo["rev"] = repository, commit
		text, err := yaml.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Fatal("docs/ci.md has no configuration of pre-commit")
	return ""
}

func (g checkout) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.t.Context(), name, args...)
	cmd.Dir, cmd.Env = g.workspace, g.env
	return cmd
}

func (g checkout) git(args ...string) string {
	g.t.Helper()
	out, err := g.command("git", args...).CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit returns what git and the hooks print.
func (g checkout) commit() (string, error) {
	out, err := g.command("git", "commit", "-q", "-m", "Change the policy").CombinedOutput()
	return string(out), err
}
