package view

import (
	"strconv"
	"time"
)

// timeline is a picture of the numbers of versions by month.
type timeline struct {
	Width       int
	Bars        []timelineBar
	First, Last int    // years
	Words       string // says the same
}

type timelineBar struct{ X, Y, Height int }

const (
	timelineHeight = 40
	timelineMonths = 1200 // maximum number of months in a picture
)

// newTimeline returns the picture for months from first to last, or nil if there are too few or too many.
func newTimeline(first, last time.Time, years []versionYear) *timeline {
	months := (last.Year()-first.Year())*12 + int(last.Month()) - int(first.Month()) + 1
	if months < 3 || months > timelineMonths {
		return nil
	}
	most, name := 0, ""
	for _, y := range years {
		for _, m := range y.Months {
			if m.Count > most {
				most, name = m.Count, m.Name
			}
		}
	}
	out := &timeline{Width: months * 4, First: first.Year(), Last: last.Year(),
		Words: "Versions by month, from " + first.Format("January 2006") + " to " + last.Format("January 2006") +
			"; the most, " + strconv.Itoa(most) + ", in " + name + "."}
	for _, y := range years {
		year, _ := strconv.Atoi(y.Digits)
		for i, m := range y.Months {
			if m.Count > 0 {
				height := max(3, timelineHeight*m.Count/most)
				out.Bars = append(out.Bars, timelineBar{X: ((year-first.Year())*12 + i + 1 - int(first.Month())) * 4,
					Y: timelineHeight - height, Height: height})
			}
		}
	}
	return out
}
