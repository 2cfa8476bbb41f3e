package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"sort"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
)

// What `helm template` prints of a chart, with Helm's own engine.
func helmTemplate() int {
	folder := flag.String("chart", "", "the chart's folder")
	namespace := flag.String("namespace", "default", "of the release")
	set := flag.String("set", "", "values: a=b,c.d=e")
	flag.Parse()
	if err := renderChart(*folder, *namespace, *set); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func renderChart(folder, namespace, set string) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	given, err := strvals.Parse(set)
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "release", Namespace: namespace, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	texts, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	names := []string{}
	for name := range texts {
		if path.Ext(name) == ".yaml" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println("---\n" + texts[name])
	}
	return nil
}
