package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// Answers A questions for NAME.NAMESPACE.svc[.cluster.local] from the API server's services and endpoints.
func dns() int {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	listen := flag.String("listen", "", "address:port, UDP")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), time.Hour)
	services, endpoints := factory.Core().V1().Services().Lister(), factory.Core().V1().Endpoints().Lister()
	factory.Core().V1().Services().Informer()
	factory.Core().V1().Endpoints().Informer()
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	socket, err := net.ListenPacket("udp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	buffer := make([]byte, 1500)
	for {
		n, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return 1
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		if answer, err := answerOf(question, services, endpoints); err == nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}
}

func answerOf(m dnsmessage.Message, services corelisters.ServiceLister, endpoints corelisters.EndpointsLister) ([]byte, error) {
	q := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired}
	m.Additionals = nil
	addresses, found := lookUp(q.Name.String(), services, endpoints)
	if !found {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address).To4(); ip != nil && q.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte(ip)}})
		}
	}
	return m.Pack()
}

func lookUp(name string, services corelisters.ServiceLister, endpoints corelisters.EndpointsLister) ([]string, bool) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, "."), ".cluster.local"), ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return nil, false
	}
	service, err := services.Services(parts[1]).Get(parts[0])
	if err != nil {
		return nil, false
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		return []string{service.Spec.ClusterIP}, true
	}
	all := []string{}
	if e, err := endpoints.Endpoints(parts[1]).Get(parts[0]); err == nil {
		for _, subset := range e.Subsets {
			for _, a := range subset.Addresses {
				all = append(all, a.IP)
			}
		}
	}
	return all, len(all) > 0
}
