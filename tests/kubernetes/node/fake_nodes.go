package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const fakeLabel = "tinderbox-test/fake-node"

// Stands in for kubelets where thousands of pods are wanted: nodes that are ready, whose pods run as soon as
// they are bound and go as soon as they are deleted. Nothing runs in them.
func fakeNodes() int {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	count := flag.Int("nodes", 10, "how many nodes")
	flag.Parse()
	client := clientOf(*kubeconfig)
	for i := 0; i < *count; i++ {
		if err := addNode(client, fmt.Sprintf("fake-%d", i)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	work := make(chan *corev1.Pod, 100000)
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o interface{}) { work <- o.(*corev1.Pod) },
		UpdateFunc: func(_, o interface{}) { work <- o.(*corev1.Pod) },
	})
	for i := 0; i < 16; i++ {
		go func() {
			for pod := range work {
				settle(client, pod)
			}
		}()
	}
	factory.Start(nil)
	fmt.Println("ready")
	for range time.Tick(10 * time.Second) {
		for i := 0; i < *count; i++ {
			_ = patchStatus(client, fmt.Sprintf("fake-%d", i), corev1.NodeStatus{Conditions: ready()})
		}
	}
	return 0
}

func addNode(client kubernetes.Interface, name string) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10000"), corev1.ResourceMemory: resource.MustParse("100Ti"),
		corev1.ResourcePods: resource.MustParse("10000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{fakeLabel: "true", "kubernetes.io/hostname": name}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: fakeLabel, Effect: corev1.TaintEffectNoSchedule}}},
	}
	_, err := client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	return patchStatus(client, name, corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: ready()})
}

// Others change the node meanwhile: a patch has no version.
func patchStatus(client kubernetes.Interface, name string, status corev1.NodeStatus) error {
	patch, err := json.Marshal(map[string]corev1.NodeStatus{"status": status})
	if err == nil {
		_, err = client.CoreV1().Nodes().Patch(context.Background(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	return err
}

func ready() []corev1.NodeCondition {
	now := metav1.Now()
	return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now, Reason: "Fake"}}
}

func settle(client kubernetes.Interface, pod *corev1.Pod) {
	if len(pod.Spec.NodeName) < 5 || pod.Spec.NodeName[:5] != "fake-" {
		return
	}
	pods := client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		now := int64(0)
		_ = pods.Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		return
	}
	if pod.Status.Phase != corev1.PodPending {
		return
	}
	statuses := ""
	for i, c := range pod.Spec.Containers {
		if i > 0 {
			statuses += ","
		}
		statuses += fmt.Sprintf(`{"name":%q,"image":%q,"imageID":"fake","ready":true,"restartCount":0,"started":true,"state":{"running":{"startedAt":%q}}}`,
			c.Name, c.Image, time.Now().UTC().Format(time.RFC3339))
	}
	patch := fmt.Sprintf(`{"status":{"phase":"Running","podIP":"192.0.2.1","startTime":%q,"conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[%s]}}`,
		time.Now().UTC().Format(time.RFC3339), statuses)
	_, _ = pods.Patch(context.Background(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
}
