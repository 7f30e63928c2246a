package config

// Kind says by what way a setting came.
type Kind string

// The ways, the strongest last.
const (
	Default     Kind = "default"
	File        Kind = "file"
	Environment Kind = "environment"
	Flag        Kind = "flag"
)

// Origin is where a setting came from. Name is the file, the variable or the flag.
type Origin struct {
	Kind Kind
	Name string
}

// String reads "default", "file PATH", "environment variable NAME" or "flag --name".
func (o Origin) String() string {
	switch o.Kind {
	case Default:
		return string(Default)
	case Environment:
		return "environment variable " + o.Name
	}
	return string(o.Kind) + " " + o.Name
}

// Origin tells where the setting of key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// Value is one effective setting, as config show prints it.
type Value struct {
	Key    string
	Value  any // as it would be written in the file; nil for purposes that are not declared
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
