package cdx

import "fmt"

// Error is a parameter that cannot be obeyed. It is the client's mistake.
type Error struct {
	Parameter string // name of the parameter
	Value     string // its value as given
	Reason    string // a clause that says why the value cannot be used, and what to write
}

// Error returns a sentence that names parameter, value and what to write.
func (e *Error) Error() string { return fmt.Sprintf("%s=%.200q: %s", e.Parameter, e.Value, e.Reason) }
