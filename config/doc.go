// Package config owns the settings of one run: where each comes from, what it may be, and what is said when it is wrong.
//
// A setting has one name everywhere: the key max_pages of the file is the variable ACAPCRAWL_MAX_PAGES and, where the
// command line offers it, the flag --max-pages. A flag goes before the environment, the environment before the file, the
// file before the default. Reading is strict: a key that does not exist and a value of another type are errors that name
// key and place, never a setting that is silently left out.
//
//	config.go    Config, Load
//	keys.go      the table of keys: default, meaning, reader, check
//	origin.go    where each setting came from
//	values.go    readers of values, as a file, a variable or a flag gives them
//	template.go  the commented file that config init writes
//	paths.go     where the file and the data directory are by default
package config
