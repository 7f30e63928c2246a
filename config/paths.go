package config

import (
	"path/filepath"
	"strings"
)

// DefaultFile is where the configuration file is looked for when none is named: $XDG_CONFIG_HOME/acapcrawl/config.yaml,
// else ~/.config/acapcrawl/config.yaml, "" when env has neither home.
func DefaultFile(env []string) string {
	return under(variables(env), "XDG_CONFIG_HOME", ".config", "acapcrawl/config.yaml")
}

// DefaultData is the data directory when none is named: $XDG_DATA_HOME/acapcrawl, else ~/.local/share/acapcrawl, "" when
// env has neither home.
func DefaultData(env []string) string {
	return under(variables(env), "XDG_DATA_HOME", ".local/share", "acapcrawl")
}

// under joins path to the directory that variable names, else to fallback in the home directory. A relative value of
// variable does not count, as the XDG base directory specification demands.
func under(env map[string]string, variable, fallback, path string) string {
	if dir := env[variable]; filepath.IsAbs(dir) {
		return filepath.Join(dir, path)
	}
	if home := env["HOME"]; home != "" {
		return filepath.Join(home, fallback, path)
	}
	return ""
}

// variables turns the form of os.Environ into a map; of two values the last counts.
func variables(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			m[name] = value
		}
	}
	return m
}
