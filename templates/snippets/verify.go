package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Verify tells whether Relay sent these bytes within the last five minutes.
func Verify(secret string, headers http.Header, body []byte) bool {
	sentAt := headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(headers.Get("webhook-id") + "." + sentAt + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, one := range strings.Fields(headers.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), expected) {
			return true
		}
	}
	return false
}

var seen = map[string]int64{} // keep this in your database, and change it in one step

// IsCurrent is false for a request whose worker has lost its lease to another one.
func IsCurrent(headers http.Header) bool {
	delivery := headers.Get("relay-delivery")
	token, err := strconv.ParseInt(headers.Get("relay-lease-token"), 10, 64)
	if err != nil || token < seen[delivery] {
		return false
	}
	seen[delivery] = token
	return true
}
