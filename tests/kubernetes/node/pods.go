package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func clientOf(kubeconfig string) kubernetes.Interface {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.QPS, config.Burst = 100000, 100000
	return kubernetes.NewForConfigOrDie(config)
}

// The bare client: creates pods like the one in a file, as fast as the API server takes them. Prints when the first
// was sent and when the last was answered, in milliseconds since 1970.
func createPods() int {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	like := flag.String("like", "", "a pod as JSON")
	count := flag.Int("pods", 100, "how many")
	connections := flag.Int("connections", 8, "requests under way at a time")
	flag.Parse()
	client := clientOf(*kubeconfig)
	var pod corev1.Pod
	text, err := os.ReadFile(*like)
	if err == nil {
		err = json.Unmarshal(text, &pod)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pod.ObjectMeta = metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{}
	numbers := make(chan int)
	var all sync.WaitGroup
	begin := time.Now().UnixMilli()
	for i := 0; i < *connections; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range numbers {
				own := pod
				own.Name = fmt.Sprintf("%s-bare-%d", pod.Name, n)
				if _, err := client.CoreV1().Pods(own.Namespace).Create(context.Background(), &own, metav1.CreateOptions{}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}()
	}
	for i := 0; i < *count; i++ {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	fmt.Printf("begin=%d created=%d\n", begin, time.Now().UnixMilli())
	return 0
}

// Waits until so many pods with these labels run. Prints when the first was there and when the last ran, in
// milliseconds since 1970.
func awaitPods() int {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	namespace := flag.String("namespace", "default", "of the pods")
	selector := flag.String("selector", "", "labels of the pods")
	count := flag.Int("pods", 100, "how many")
	flag.Parse()
	var lock sync.Mutex
	first, running, done := int64(0), map[string]bool{}, make(chan bool)
	seen := func(o interface{}) {
		pod, ok := o.(*corev1.Pod)
		if !ok {
			return
		}
		lock.Lock()
		defer lock.Unlock()
		if first == 0 {
			first = time.Now().UnixMilli()
		}
		if pod.Status.Phase != corev1.PodRunning || running[pod.Name] {
			return
		}
		running[pod.Name] = true
		if len(running) == *count {
			fmt.Printf("first=%d running=%d\n", first, time.Now().UnixMilli())
			close(done)
		}
	}
	// An informer lists again when the server drops its watch.
	factory := informers.NewSharedInformerFactoryWithOptions(clientOf(*kubeconfig), 0, informers.WithNamespace(*namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = *selector }))
	informer := factory.Core().V1().Pods().Informer()
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, o interface{}) { seen(o) }})
	stop := make(chan struct{})
	factory.Start(stop)
	cache.WaitForCacheSync(stop, informer.HasSynced)
	fmt.Fprintln(os.Stderr, "ready")
	<-done
	return 0
}
