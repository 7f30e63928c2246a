package config

// Kind is the kind of source from which a setting was read.
type Kind string

// The kinds of source. Each overrides the kinds before it.
const (
	Default     Kind = "default"
	Shared      Kind = "cluster" // the setting of the cluster that this machine joins
	File        Kind = "file"
	Environment Kind = "environment"
	Flag        Kind = "flag"
)

// Origin is the source of a setting. Name is the name of the file, of the environment variable or
// of the flag.
type Origin struct {
	Kind Kind
	Name string
}

// String returns "default", "cluster", "file PATH", "environment variable NAME" or "flag --name".
func (o Origin) String() string {
	switch o.Kind {
	case Default, Shared:
		return string(o.Kind)
	case Environment:
		return "environment variable " + o.Name
	}
	return string(o.Kind) + " " + o.Name
}

// Origin returns the source of the setting key.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// Read reads the value of a setting from text, as from a flag, and returns it in the form in which a file contains it.
// The error is an *Error.
func Read(name, text string) (any, error) {
	for _, k := range keys {
		if k.name != name {
			continue
		}
		c := &Config{origins: map[string]Origin{name: {Kind: Flag, Name: name}}}
		if err := k.set(c, variable(text)); err != nil {
			return nil, c.wrong(k, err)
		}
		return k.get(c), nil
	}
	return nil, unknownKey("the command line", name)
}

// Value is a setting in force, as config show prints it.
type Value struct {
	Key    string
	Value  any // the value in the form in which a file contains it; nil for undeclared purposes
	Origin Origin
}

// Values returns every setting in the order of the file that config init writes.
func (c *Config) Values() []Value {
	var vs []Value
	for _, k := range keys {
		vs = append(vs, Value{Key: k.name, Value: k.get(c), Origin: c.origins[k.name]})
	}
	return vs
}
