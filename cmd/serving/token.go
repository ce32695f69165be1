package serving

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pixd/cmd/machine"
)

// TokenFile is the name of the file in a data folder with the operators' token.
const TokenFile = "admin.token"

// tokenChars is the least number of characters of an operators' token: a shorter token can be
// guessed.
const tokenChars = 16

// CheckToken returns an error for a token that is not empty but too short. The error does not
// show the token.
func CheckToken(source, token string) error {
	n := utf8.RuneCountInString(strings.TrimSpace(token))
	if n == 0 || n >= tokenChars {
		return nil
	}
	return fmt.Errorf("%s: an operators' token must have at least %d characters, and this one has %d", source, tokenChars, n)
}

// TokenIn returns the operators' bearer token in a data folder, which the first start makes.
func TokenIn(dir string) (string, error) {
	path := filepath.Join(dir, TokenFile)
	b, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(b)); err == nil && token != "" {
		return token, CheckToken(path, token)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("operator token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(machine.Secret(32))
	if err := writePrivate(path, token+"\n"); err != nil {
		return "", fmt.Errorf("operator token: %w", err)
	}
	return token, nil
}

// writePrivate writes a new file, in place of one that has the name. Nobody but its owner can open
// it, from its creation on, and a power cut after it has returned does not lose it.
func writePrivate(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
