// A Kubernetes node and its control plane in one program, for the tests: etcd, API server, controllers,
// scheduler, kubelet and kubectl, each by its name as the first argument.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func command(make func() *cobra.Command) func() int {
	return func() int { return cli.Run(make()) }
}

var parts = map[string]func() int{
	"etcd":               func() int { etcdmain.Main(os.Args); return 0 },
	"apiserver":          command(apiserver.NewAPIServerCommand),
	"controller-manager": command(controllers.NewControllerManagerCommand),
	"scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":            command(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":            command(func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() }),
	"dns":                dns,
	"fake-nodes":         fakeNodes,
	"create-pods":        createPods,
	"await-pods":         awaitPods,
	"helm-template":      helmTemplate,
}

func main() {
	if len(os.Args) > 1 {
		if run := parts[os.Args[1]]; run != nil {
			os.Args = append(os.Args[:1], os.Args[2:]...)
			os.Exit(run())
		}
	}
	names := []string{}
	for name := range parts {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: node "+strings.Join(names, "|")+" [flags]")
	os.Exit(2)
}
