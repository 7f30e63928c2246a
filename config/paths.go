package config

import (
	"path/filepath"
	"strings"
)

// DefaultFile returns the path of the configuration file that is read if the user names none:
// $XDG_CONFIG_HOME/acapcrawl/config.yaml, or else ~/.config/acapcrawl/config.yaml. It returns "" if
// env has neither variable.
func DefaultFile(env []string) string {
	return under(variables(env), "XDG_CONFIG_HOME", ".config", "acapcrawl/config.yaml")
}

// DefaultData returns the data directory that is used if none is named: $XDG_DATA_HOME/acapcrawl,
// or else ~/.local/share/acapcrawl. It returns "" if env has neither variable.
func DefaultData(env []string) string {
	return under(variables(env), "XDG_DATA_HOME", ".local/share", "acapcrawl")
}

// under joins path to the directory in the environment variable, or else to fallback in the home
// directory. It ignores a relative value of variable, as the XDG base directory specification
// demands.
func under(env map[string]string, variable, fallback, path string) string {
	if dir := env[variable]; filepath.IsAbs(dir) {
		return filepath.Join(dir, path)
	}
	if home := env["HOME"]; home != "" {
		return filepath.Join(home, fallback, path)
	}
	return ""
}

// variables converts the form of os.Environ into a map. If a name occurs twice, the last value
// counts.
func variables(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			m[name] = value
		}
	}
	return m
}
