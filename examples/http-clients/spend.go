// SPDX-License-Identifier: Apache-2.0
// Asks whether a request may pass, and says how long to wait if not. Go's own library is enough.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"
)

type decision struct {
	Allowed        bool    `json:"allowed"`
	Remaining      int64   `json:"remaining"`
	RetryInSeconds float64 `json:"retryInSeconds"`
	Detail         string  `json:"detail"` // of a problem
}

var client = http.Client{Timeout: 10 * time.Second}

func spend(server, limit, id string) (decision, error) {
	var d decision
	body, err := json.Marshal(map[string]string{"limit": limit, "id": id})
	if err != nil {
		return d, err
	}
	answer, err := client.Post(server+"/v1/spend", "application/json", bytes.NewReader(body))
	if err != nil {
		return d, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&d); err != nil {
		return d, err
	}
	if answer.StatusCode != http.StatusOK {
		return d, fmt.Errorf("%s: %s", answer.Status, d.Detail)
	}
	return d, nil
}

func main() {
	for i := 0; i < 4; i++ {
		d, err := spend(os.Args[1], "SignUpsPerIPAddress", "203.0.113.9")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if !d.Allowed {
			fmt.Printf("denied, retry after %.0f s\n", math.Ceil(d.RetryInSeconds))
		}
	}
}
