// Package site implements what the program does with a data directory.
//
// A data directory contains the archive, the index, the policies that were read, the ledger of
// publishers' requests and the queue of the crawler. Open opens a data directory, and creates it if
// the options permit that. The methods of Site crawl into the directory, search and show stored
// pages, sweep, compact, verify, back up, import, export, and execute the requests of publishers.
// They print nothing: they return values, and call functions in their options to report progress.
//
// Settings come from config.Config. Each setting means the same as in the configuration file. Only
// one process can have a data directory open; in other processes Open returns ErrInUse. All methods
// are safe for concurrent use once the directory is open. But Crawl, Import and RunRequests need
// exclusive access to the directory until they call their Ready function.
package site
