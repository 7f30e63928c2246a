package preference

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Corrected returns the value of a line with the given name, Content-Usage or Content-Signal, as
// its author meant it. name may be in any letter case. ok is false if there is a doubt, or if the
// value is right: only letter case, separators, quotation marks and the words yes, no, y and n are
// corrected, and only if every member has a known label.
func Corrected(name, value string) (corrected string, ok bool) {
	var v corrector
	switch strings.ToLower(name) {
	case contentUsage:
		v = aipref{}
	case contentSignal, contentSignals:
		v = signals{}
	default:
		return "", false
	}
	return correct(v, value)
}

// corrector is a vocabulary whose statements are members with a label and a value.
type corrector interface {
	// value returns the value of a label in the form in which the vocabulary writes it. ok is false
	// if the label is unknown, or if the value is none of those of the label.
	value(label, written string) (value string, ok bool)
}

// value implements corrector.
func (aipref) value(label, written string) (string, bool) {
	value := map[string]string{"y": "y", "n": "n", "yes": "y", "no": "n"}[written]
	return value, value != "" && labels(label) != nil
}

// value implements corrector.
func (signals) value(label, written string) (string, bool) {
	if label == "use" {
		return written, isUse(written)
	}
	value := map[string]string{"y": "yes", "n": "no", "yes": "yes", "no": "no"}[written]
	return value, value != "" && signalUsages(label) != nil
}

// maxCorrected is how long a value may be that is corrected.
const maxCorrected = 300

// correct returns a value with only known members, as Corrected does.
func correct(v corrector, text string) (corrected string, ok bool) {
	if len(text) > maxCorrected || strings.ContainsAny(text, "/#?:") {
		return "", false
	}
	lower := strings.ToLower(strings.Join(strings.Fields(text), " "))
	lower = strings.NewReplacer(" = ", "=", " =", "=", "= ", "=", "\"", "").Replace(lower)
	values := map[string]string{}
	var order []string
	for _, word := range strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(",; ", r) }) {
		label, written, _ := strings.Cut(word, "=")
		value, known := v.value(label, written)
		if had, twice := values[label]; !known || twice && had != value {
			return "", false
		}
		if values[label] = value; !slices.Contains(order, label) {
			order = append(order, label)
		}
	}
	for i, label := range order {
		order[i] = label + "=" + values[label]
	}
	corrected = strings.Join(order, ", ")
	return corrected, corrected != "" && corrected != strings.TrimSpace(text)
}

// hintFor returns a hint with the correct form of a text, or otherwise if it is not known.
func hintFor(v corrector, text, otherwise string) string {
	if corrected, ok := correct(v, text); ok {
		return "write " + corrected
	}
	return otherwise
}

// isUse reports whether a word is a value of the key use of Content-Signal.
func isUse(value string) bool { return value == "immediate" || value == "reference" || value == "full" }

// signalUsages returns the usages of a key of Content-Signal, or nil for use and for unknown keys.
func signalUsages(key string) []acap.Usage {
	return map[string][]acap.Usage{"search": search(), "ai-input": {acap.AIUse}, "ai-train": {acap.TrainAI}}[key]
}
