// Package site is the application: an open data directory, and everything one does with it.
//
// A data directory holds the archive, the index, the policies that were read, the ledger of
// requests and the queue of a crawler. Open opens it, and makes it if asked to. The methods of Site
// then crawl into it, search and show what it holds, sweep, compact, verify, back up, import,
// export, and execute what publishers ask for. None of them prints: they return values, and report
// through functions in their options.
//
// Settings come from config.Config, and mean the same as in the configuration file. One process
// owns a data directory at a time (Open returns ErrInUse in the others). All methods are safe for
// concurrent use once the directory is open, except that Crawl, Import and RunRequests need the
// directory for themselves until their Ready function is called.
package site
