// Calls a server by the client that oapi-codegen makes: generated URL KEY LIMITED_KEY.
//
// Prints what the answers say as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"assay.test/clients/api"
)

const (
	listed = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn"
	mixer  = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7"
)

func client(url, key string) *api.ClientWithResponses {
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", key)
		return nil
	}
	return must(api.NewClientWithResponses(url, api.WithRequestEditorFn(withKey)))
}

func main() {
	url, key, limitedKey := os.Args[1], os.Args[2], os.Args[3]
	ctx, all, limited := context.Background(), client(url, key), client(url, limitedKey)
	direction := api.Deposit
	request := api.CheckRequest{Blockchain: "btc", Address: listed, Direction: &direction}
	check := must(all.CheckAddressWithResponse(ctx, nil, request)).JSON200

	rows := []api.ScreenRequest{
		{Blockchain: "btc", Address: listed},
		{Blockchain: "eth", Address: mixer},
		{Blockchain: "btc", Address: "nonsense"},
	}
	var screened []string
	for _, row := range *must(all.ScreenAddressesWithResponse(ctx, nil, rows)).JSON200 {
		if row.Verdict != nil {
			screened = append(screened, string(*row.Verdict))
		} else {
			screened = append(screened, *row.Error)
		}
	}

	refused := must(all.CheckAddressWithResponse(ctx, nil, api.CheckRequest{Blockchain: "btc", Address: "nonsense"}))

	must(limited.CheckAddressWithResponse(ctx, nil, request))
	exceeded := must(limited.CheckAddressWithResponse(ctx, nil, request))
	seconds, _ := strconv.Atoi(exceeded.HTTPResponse.Header.Get("Retry-After"))

	limit := uint(1)
	found := must(all.FindEntitiesWithResponse(ctx, &api.FindEntitiesParams{Name: "Ilja Greymarsh", Limit: &limit})).JSON200
	var names []string
	for _, entity := range found.Entities {
		names = append(names, entity.Name)
	}

	told := map[string]any{
		"check":  []any{check.Verdict, check.RiskLevel, check.RiskScore, check.Sanctions[0].Status},
		"screen": screened,
		"error":  []any{refused.StatusCode(), codeOf(refused.ApplicationproblemJSON422)},
		"limit":  []any{exceeded.StatusCode(), codeOf(exceeded.ApplicationproblemJSON429), seconds > 0},
		"search": names,
	}
	fmt.Println(string(must(json.Marshal(told))))
}

func codeOf(problem *api.ProblemDetails) string {
	if problem == nil {
		return "no problem"
	}
	return string(problem.Code)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
