//go:build !linux

package natstest

import (
	"errors"
	"os"
	"syscall"
)

var errSystem = errors.New("clusters for tests need Linux")

func diesWithParent() *syscall.SysProcAttr { return nil }
func pauseProcess(*os.Process) error       { return errSystem }
func resumeProcess(*os.Process) error      { return errSystem }
