package main

import (
	"context"
	"errors"
)

func (c *Command) runDemo(ctx context.Context, r demoRequest) error {
	return errors.New("demo is not wired yet")
}
