package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// Load reads all settings from the sources in the argument. Its error joins one *Error for each
// wrong setting.
//
// The default of PerHost is 1. If Delay is 0, which is meant for the operator's own hosts, the
// default of PerHost is Concurrency.
func Load(in Input) (*Config, error) {
	v := viper.New()
	c := &Config{File: in.File, origins: map[string]Origin{}}
	env := variables(in.Env)
	var err error
	if in.Text, err = c.readFile(v, in); err != nil {
		return nil, err
	}
	c.in = in
	job, err := c.readJobs(v, in.Job)
	wrong := []error{err}
	names := keysOf(v)
	for _, name := range names {
		if name != jobsKey && !slices.Contains(Keys(), name) {
			wrong = append(wrong, unknownKey(c.File, name))
		} else if !v.InConfig(name) {
			wrong = append(wrong, &Error{Where: c.File, Key: name, What: "the key has no value"})
		}
	}
	if err := c.collect(v, in, env, job); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if slices.ContainsFunc(names, k.misshapen) {
			continue
		}
		if err := k.set(c, v.Get(k.name)); err != nil {
			wrong = append(wrong, c.wrong(k, err))
		}
	}
	if in.Job == "" { // otherwise Data is that of the job
		wrong = append(wrong, c.checkDirectories())
	} else {
		wrong = append(wrong, c.checkOwnDirectory(job))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	c.completeSettings(env)
	if _, named := in.Flags["crawler"]; in.Judges && named {
		sender := in
		sender.Judges, sender.Flags = false, maps.Clone(in.Flags)
		delete(sender.Flags, "crawler")
		delete(sender.Flags, "purposes")
		if c.own, err = Load(sender); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Text returns the content of File when it was read; nil if there is no file.
func (c *Config) Text() []byte { return c.in.Text }

// WithJob returns the settings of the job called name: those that the job sets, and those of c for the rest.
// It does not read the file again, and does not change c.
func (c *Config) WithJob(name string) (*Config, error) {
	in := c.in
	in.Job = name
	return Load(in)
}

// keysOf returns the keys of settings that the file contains, sorted; those within jobs are left out.
func keysOf(v *viper.Viper) []string {
	names := slices.DeleteFunc(v.AllKeys(), func(name string) bool {
		return name == jobsKey && v.InConfig(name) || strings.HasPrefix(name, jobsKey+".")
	})
	slices.Sort(names)
	return names
}

// collect puts the value of each setting into v, from the source that comes first, and notes the source.
func (c *Config) collect(v *viper.Viper, in Input, env map[string]string, job Job) error {
	overlay := map[string]any{}
	for _, k := range keys {
		v.SetDefault(k.name, k.fallback(in.Env))
		origin := Origin{Kind: Default}
		if v.InConfig(k.name) {
			origin = Origin{Kind: File, Name: c.File}
		}
		if value, set := job.values[k.name]; set {
			overlay[k.name] = value
			origin = Origin{Kind: File, Name: c.File + ", job " + job.Name}
		}
		if text, set := env[k.variable()]; set && text != "" {
			overlay[k.name] = variable(text)
			origin = Origin{Kind: Environment, Name: k.variable()}
		}
		if value, set := in.Flags[k.name]; set {
			v.Set(k.name, value)
			origin = Origin{Kind: Flag, Name: k.flag()}
		}
		if value, set := in.Shared[k.name]; set && (in.SharedFirst || origin.Kind == Default) {
			delete(overlay, k.name)
			v.Set(k.name, value)
			origin = Origin{Kind: Shared}
		}
		c.origins[k.name] = origin
	}
	for name, value := range overlay {
		nested := map[string]any{}
		nest(nested, name, value)
		if err := v.MergeConfigMap(nested); err != nil {
			return err
		}
	}
	return nil
}

// completeSettings replaces ~ in Data by the variable HOME of env, and sets the values that depend
// on other settings.
func (c *Config) completeSettings(env map[string]string) {
	if rest, ok := strings.CutPrefix(c.Data, "~/"); ok && env["HOME"] != "" {
		c.Data = filepath.Join(env["HOME"], rest)
	}
	c.RecrawlMax = max(c.RecrawlMax, c.RecrawlMin)
	if c.PerHost == 0 {
		c.PerHost = 1
		if c.Delay == 0 {
			c.PerHost = c.Concurrency
		}
	}
}

// readFile reads into v the file that the user named, and returns its content. If the user named
// none, it reads the default file; if the default file does not exist, it sets c.File to "".
func (c *Config) readFile(v *viper.Viper, in Input) (text []byte, err error) {
	if c.File == "" {
		if c.File = DefaultFile(in.Env); c.File == "" {
			return nil, nil
		}
	}
	if text = in.Text; text == nil {
		text, err = os.ReadFile(c.File)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && in.File == "":
		c.File = ""
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Where: c.File, What: "there is no such configuration file",
			Hint: "acapcrawl config init --config " + c.File}
	case err != nil:
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, &Error{Where: c.File, What: fmt.Sprintf("the configuration file cannot be read: %v", err)}
	}
	v.SetConfigType(format(c.File))
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return nil, &Error{Where: c.File, What: "the configuration file is not well-formed: " + syntax(err)}
	}
	return text, nil
}

// format returns the format of a file: "json" or "toml" if its name has this extension, otherwise
// "yaml".
func format(file string) string {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".json", ".toml":
		return ext[1:]
	}
	return "yaml"
}

// syntax returns the message of the parser on one line, without the text that viper adds.
func syntax(err error) string {
	var parse viper.ConfigParseError
	if errors.As(err, &parse) {
		err = parse.Unwrap()
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
}

func unknownKey(file, name string) error {
	e := &Error{Where: file, Key: name, What: "there is no such key"}
	if near := Nearest(name, append(Keys(), jobsKey)); near != "" {
		e.Hint = "write " + near
	}
	return e
}

// wrong returns an *Error for err, which describes a mistake in the value of the setting k. It adds
// the place where the setting was made.
func (c *Config) wrong(k key, err error) *Error {
	e := &Error{What: err.Error(), Hint: k.hint}
	switch o := c.origins[k.name]; o.Kind {
	case File:
		e.Where, e.Key = o.Name, k.name
	case Default:
		e.Where, e.Key = "default", k.name
	default:
		e.Where = o.String()
	}
	return e
}

// nest stores value in nested maps: for the name "a.b.c" it sets m["a"]["b"]["c"].
func nest(m map[string]any, name string, value any) {
	section, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		m[name] = value
		return
	}
	inner := map[string]any{}
	nest(inner, rest, value)
	m[section] = inner
}
