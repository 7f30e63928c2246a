// Package pagecheck checks pages of the web interface for tests: with html-validate, and with axe-core in
// Chromium.
package pagecheck

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Modules is the environment variable that names a directory node_modules with axe-core and
// html-validate.
const Modules = "ACAPCRAWL_NODE_MODULES"

// rules is the configuration of html-validate. Titles of archived pages are as long as they are, white
// space from templates is no mistake, and the page and its files come from the same server. The parts of a
// table have role attributes if a style sheet changes their display, because browsers may then forget the roles.
const rules = `{"root": true, "extends": ["html-validate:recommended", "html-validate:document"], "rules": {
	"long-title": "off", "no-trailing-whitespace": "off", "no-inline-style": "error", "require-sri": "off",
	"valid-id": ["error", {"relaxed": true}],
	"no-redundant-role": ["error", {"exclude": ["table", "rowgroup", "row", "columnheader", "rowheader", "cell"]}],
	"form-dup-name": ["error", {"shared": ["radio", "checkbox", "button", "reset", "submit"]}]}}`

// Validate checks HTML pages with html-validate. pages contains the text of each page by its name. The
// test is skipped without html-validate.
func Validate(t *testing.T, pages map[string]string) {
	t.Helper()
	program := module(t, "html-validate/bin/html-validate.mjs")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node is installed")
	}
	dir, names := t.TempDir(), map[string]string{}
	report := filepath.Join(dir, "report.json")
	args := []string{program, "--config", filepath.Join(dir, "config.json"), "--formatter", "json=" + report}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		file := filepath.Join(dir, fmt.Sprintf("%d.html", len(names)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names[file] = name
		args = append(args, file)
	}
	said, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	var found []struct {
		FilePath string
		Messages []struct {
			RuleID, Message string
			Line, Column    int
		}
	}
	out, missing := os.ReadFile(report)
	if bad := cmp.Or(missing, json.Unmarshal(out, &found)); bad != nil {
		t.Fatalf("html-validate: %v, %v: %s", err, bad, said)
	}
	for _, f := range found {
		for _, m := range f.Messages {
			t.Errorf("%s:%d:%d: %s [%s]", names[f.FilePath], m.Line, m.Column, m.Message, m.RuleID)
		}
	}
}

// module returns the path of a file of a node module. Without it the test is skipped.
func module(t *testing.T, path string) string {
	t.Helper()
	dir := os.Getenv(Modules)
	if dir == "" {
		t.Skip(Modules + " names no directory with axe-core and html-validate from npm")
	}
	file := filepath.Join(dir, filepath.FromSlash(path))
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	return file
}

// violation is a violation that axe-core reports.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// Axe opens each address in Chromium, 360 pixels wide and dark, 1400 wide and light, and reports the violations
// that axe-core finds, and pages that are wider than the window. Without Chromium or axe-core the test
// is skipped.
func Axe(t *testing.T, addresses []string) {
	t.Helper()
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := browse(t)
	for _, address := range addresses {
		for width, scheme := range map[int64]string{360: "dark", 1400: "light"} {
			found, wide, err := inspect(ctx, string(axe), address, width, scheme)
			what := fmt.Sprintf("%s, %d px, %s", address, width, scheme)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if wide > width {
				t.Errorf("%s: the page is %d px wide", what, wide)
			}
			for _, v := range found {
				for _, n := range v.Nodes {
					t.Errorf("%s: %s [%s]\n%s\n%s", what, v.Help, v.ID, n.HTML, n.Summary)
				}
			}
		}
	}
}

// browse starts Chromium and returns the context of its page.
func browse(t *testing.T) context.Context {
	t.Helper()
	program, sandbox := Chromium(t)
	home := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(home),
		chromedp.Flag("disable-dev-shm-usage", true))
	if !sandbox {
		options = append(options, chromedp.NoSandbox)
	}
	base, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(base)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// inspect opens a page and returns what axe-core finds, and the width of the content.
func inspect(ctx context.Context, axe, address string, width int64, scheme string) (found []violation, wide int64,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	if _, err = chromedp.Run(ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		return nil, 0, err
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		return nil, 0, err
	}
	if _, err = chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
		return nil, 0, err
	}
	if wide, err = chromedp.Run(ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")); err != nil {
		return nil, 0, err
	}
	if _, err = chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](axe)); err != nil {
		return nil, 0, err
	}
	found, err = chromedp.Run(ctx, chromedp.Evaluate[[]violation](
		`axe.run(document, {iframes: false, resultTypes: ["violations"]}).then(r => r.violations)`,
		chromedp.EvalAwaitPromise))
	return found, wide, err
}
