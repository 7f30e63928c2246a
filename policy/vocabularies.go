package policy

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Vocabularies returns the vocabularies with these names for acap.Crawler, or all of them if there are no names:
// aipref, content-signal, tdmrep, rsl, noai and plus-dmi, with the settings that are the program's defaults. It returns
// an error for a name that does not exist.
func Vocabularies(names ...string) ([]acap.Vocabulary, error) {
	if len(names) == 0 {
		names = preference.Names()
	}
	return preference.Vocabularies(names, preference.Settings{})
}
