package crawler

type JournalRecord struct {
	Position uint64
	Puts     [][]byte
}
