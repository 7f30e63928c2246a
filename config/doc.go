// Package config loads the settings of one run and checks their values. It records where each
// setting came from and reports every wrong one.
//
// A setting has the same name everywhere: the key max_pages of the file is the variable
// ACAPCRAWL_MAX_PAGES and, if the command line offers it, the flag --max-pages. A flag overrides
// the environment, the environment overrides the file, and the file overrides the default. Reading
// is strict: an unknown key and a value of another type are errors that name key and place. No
// setting is ignored.
//
//	config.go                   Config, Load
//	keys.go, keys_serve.go      the table of keys
//	origin.go                   the source of each setting
//	values.go, values_number.go readers of values from a file, a variable or a flag
//	template.go                 the commented file that config init writes
//	paths.go                    the default paths of file and data directory
package config
