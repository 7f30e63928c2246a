package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

func (j *Job) readSchedule(v any) (err error) {
	if j.Schedule, err = text(v); err != nil {
		return err
	}
	wrong := fmt.Errorf("%q is not a schedule", j.Schedule)
	if strings.HasPrefix(j.Schedule, "TZ=") || strings.HasPrefix(j.Schedule, "CRON_TZ=") {
		return wrong // the library panics if nothing follows the time zone; schedules are in local time
	}
	if j.schedule, err = cron.ParseStandard(j.Schedule); err != nil {
		return wrong
	}
	if every, is := strings.CutPrefix(j.Schedule, "@every "); is { // the library changes other intervals silently
		if d, err := time.ParseDuration(every); err != nil || d < time.Second || d%time.Second != 0 {
			return fmt.Errorf("%q is not an interval of whole seconds above 0", j.Schedule)
		}
	}
	if j.schedule.Next(time.Now()).IsZero() {
		return fmt.Errorf("%q names a day that does not exist", j.Schedule)
	}
	return nil
}

// allHours is set in cron.SpecSchedule.Hour if the schedule names no hours.
const allHours = 1 << 63

// nextAfter returns the first time of the schedule s after last, in the time zone of last. A time that a change of the
// clock skips is replaced by the time of the change, and a time that occurs twice counts once. Intervals, and schedules
// for all hours, do not depend on the clock.
func nextAfter(s cron.Schedule, last time.Time) time.Time {
	spec, is := s.(*cron.SpecSchedule)
	if !is || spec.Hour&allHours != 0 {
		return s.Next(last)
	}
	clock := func(t time.Time, zone *time.Location) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	}
	shown, due := clock(last, time.UTC), last // UTC has no changes
	for !due.After(last) {
		if shown = s.Next(shown); shown.IsZero() {
			return shown
		}
		due = clock(shown, last.Location())
		switch begin, end := due.ZoneBounds(); {
		case clock(due, time.UTC).After(shown):
			due = begin
		case clock(due, time.UTC).Before(shown):
			due = end
		}
	}
	return due
}
