package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build compiles a worker that contains all mutants, in folder, from the module in dir. It does not
// change the files of the module.
func build(dir, folder string, pkgs []*pkg, x *finder) (worker string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, p := range pkgs {
		for _, f := range p.files {
			if len(f.edits) == 0 && len(x.tables[f]) == 0 {
				continue
			}
			to := filepath.Join(folder, strings.ReplaceAll(f.name, "/", "_"))
			if err := os.WriteFile(to, []byte(f.mutated(x.tables[f])), 0o600); err != nil {
				return "", err
			}
			overlay.Replace[f.path] = to
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	replace := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(replace, list, 0o600); err != nil {
		return "", err
	}
	worker = filepath.Join(folder, "worker")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", replace, "-o", worker,
		"./internal/test/mutants/worker")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mutated engine does not compile: %w\n%s", err, out)
	}
	return worker, nil
}
