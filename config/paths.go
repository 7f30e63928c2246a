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

// DefaultData returns the data directory that is used if the user names none:
// $XDG_DATA_HOME/acapcrawl, or else ~/.local/share/acapcrawl. It returns "" if env has neither
// variable.
func DefaultData(env []string) string {
	return under(variables(env), "XDG_DATA_HOME", ".local/share", "acapcrawl")
}

// under returns path below the directory that the environment variable names. If the variable is
// not set, it returns path below the directory fallback in the home directory. A relative value of
// the variable is ignored, as the XDG base directory specification requires.
func under(env map[string]string, variable, fallback, path string) string {
	if dir := env[variable]; filepath.IsAbs(dir) {
		return filepath.Join(dir, path)
	}
	if home := env["HOME"]; home != "" {
		return filepath.Join(home, fallback, path)
	}
	return ""
}

// variables converts environment variables from the form of os.Environ into a map. If a name occurs
// twice, the map contains the last value.
func variables(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			m[name] = value
		}
	}
	return m
}
