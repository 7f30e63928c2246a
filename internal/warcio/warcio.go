// Package warcio finds npm's warcio (2.4), the second opinion of tests on WARC files and their index.
package warcio

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names the program where it is not in PATH.
const Variable = "ACAPCRAWL_WARCIO"

// Find gives the path of the program. The error says how to get it.
func Find() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("warcio"); err == nil {
		return path, nil
	}
	return "", errors.New("warcio is neither in PATH nor named by " + Variable + ": npm install --prefix DIR warcio@2.4.11")
}

// Node runs a script with warcio's library as WARCIO and args after it as process.argv.slice(2), and gives what it prints. program
// is what Find gave.
func Node(ctx context.Context, program, script string, args ...string) ([]byte, error) {
	cli, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	dist := filepath.Dir(cli)
	head := "import * as WARCIO from " + quoted(filepath.Join(dist, "index.js")) + ";\n" +
		"import * as UTILS from " + quoted(filepath.Join(dist, "utils.js")) + ";\n"
	cmd := exec.CommandContext(ctx, "node", append([]string{"--input-type=module", "-e", head + script, "--", "_"}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func quoted(path string) string { return `"file://` + filepath.ToSlash(path) + `"` }
