// Package warcio runs npm's warcio (2.4), which tests use to check WARC files and their index
// independently.
package warcio

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable is the environment variable with the path of warcio if it is not in PATH.
const Variable = "ACAPCRAWL_WARCIO"

// Find returns the path of warcio. The error says how to install it.
func Find() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("warcio"); err == nil {
		return path, nil
	}
	return "", errors.New("warcio is neither in PATH nor named by " + Variable +
		": npm install --prefix DIR warcio@2.4.11")
}

// Node runs a script in Node.js and returns its standard output. The script has warcio's library as
// WARCIO and UTILS, and args as process.argv.slice(2). program is the result of Find.
func Node(ctx context.Context, program, script string, args ...string) ([]byte, error) {
	cli, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	dist := filepath.Dir(cli)
	head := "import * as WARCIO from " + quoted(filepath.Join(dist, "index.js")) + ";\n" +
		"import * as UTILS from " + quoted(filepath.Join(dist, "utils.js")) + ";\n"
	cmd := exec.CommandContext(ctx, "node", append([]string{"--input-type=module", "-e", head + script, "--", "_"},
		args...)...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func quoted(path string) string { return `"file://` + filepath.ToSlash(path) + `"` }
