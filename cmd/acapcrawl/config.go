package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
)

func (c *Command) configVerb() *cobra.Command {
	return c.group("config", "Write, print or check the configuration",
		c.configInitVerb(), c.configShowVerb(), c.configCheckVerb())
}

func (c *Command) configInitVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "init", Short: "Write a commented configuration file", Args: noArgs}
	force := cmd.Flags().Bool("force", false, "replace an existing file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path := c.configFile(cmd)
		if path == "" {
			path = config.DefaultFile(c.Env)
		}
		if path == "" {
			return misuse("acapcrawl config init --config FILE", "neither XDG_CONFIG_HOME nor HOME names a directory "+
				"for the file")
		}
		if ext := filepath.Ext(path); ext == ".json" || ext == ".toml" {
			return misuse("--config "+strings.TrimSuffix(path, ext)+".yaml",
				"the file is written as YAML, but %s has another extension", path)
		}
		if err := writeNew(path, config.Template(), *force); err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout, path)
		return nil
	}
	return cmd
}

// writeNew writes text to the file path. If force is false and the file exists, writeNew fails.
func writeNew(path string, text []byte, force bool) error {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("the configuration file cannot be written: %w", err)
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return misuse("acapcrawl config init --force", "%s already exists", path)
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("the configuration file cannot be written: %w", err)
	}
	return nil
}

func (c *Command) configShowVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Print the settings in force and the source of each", Args: noArgs}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if out.JSON() {
			values, origins := map[string]any{}, map[string]string{}
			for _, v := range cfg.Values() {
				values[v.Key], origins[v.Key] = v.Value, v.Origin.String()
			}
			values["origin"] = origins
			return c.printJSON(values)
		}
		for _, v := range cfg.Values() {
			text, err := json.Marshal(v.Value)
			if err != nil {
				return err
			}
			if v.Value == nil {
				text = []byte("undeclared")
			}
			fmt.Fprintf(c.Stdout, "%-36s # %s\n", v.Key+": "+string(text), v.Origin)
		}
		return nil
	}
	return cmd
}

func (c *Command) configCheckVerb() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check whether the configuration is valid", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range unknownVariables(c.Env) {
				fmt.Fprintf(c.Stderr, "Notice: the environment variable %s is not a setting\n", name)
			}
			cfg, err := c.settings(cmd)
			if err != nil {
				return err
			}
			if _, err := checkLevels(cfg); err != nil {
				return err
			}
			for _, j := range cfg.Jobs {
				own, err := cfg.WithJob(j.Name)
				if err != nil {
					return err
				}
				for _, notice := range onlyOnce(j, own) {
					fmt.Fprintln(c.Stderr, "Notice: "+notice)
				}
			}
			if cfg.File == "" {
				fmt.Fprintln(c.Stdout, "valid; there is no configuration file")
				return nil
			}
			fmt.Fprintf(c.Stdout, "%s: valid\n", cfg.File)
			return nil
		},
	}
}

// unknownVariables returns the variables in env that begin with ACAPCRAWL_ but are not settings.
func unknownVariables(env []string) []string {
	known := []string{fileVariable}
	for _, key := range config.Keys() {
		known = append(known, config.Variable(key))
	}
	var names []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "ACAPCRAWL_") && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	return names
}
