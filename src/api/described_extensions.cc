// SPDX-License-Identifier: Apache-2.0
//
// Definitions of kinds. The language is described_kinds.h's; what holds of them is known to room crd.
#include "api/internal/descriptions.h"

namespace dray::api::internal {

std::string_view ExtensionDescriptions() {
  return R"(
kind apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster status generation short=crd,crds : A custom resource. Its objects are served as soon as its names are accepted.
2 spec CustomResourceDefinitionSpec always required : What the kind is called and what its objects have.
3 status CustomResourceDefinitionStatus : Whether it is served.

struct CustomResourceDefinitionSpec : What a kind is called and what its objects have.
1 group string always : The group that it is served in; the definition is called PLURAL.GROUP.
3 names CustomResourceDefinitionNames always : What it is called.
4 scope string always : Namespaced or Cluster.
7 versions []CustomResourceDefinitionVersion always : Its versions; one of them is stored.
9 conversion CustomResourceConversion? : How objects of one version become those of another. Only None works here.
10 preserveUnknownFields bool : Must be false; schemas say what is preserved.

struct CustomResourceDefinitionNames : What a kind is called.
1 plural string always : The name of the resource, as in paths.
2 singular string : What one object is called; kind in lower case by default.
3 shortNames []string : Short names for kubectl.
4 kind string always : The kind of its objects.
5 listKind string : The kind of lists of them; KINDList by default.
6 categories []string : Groups of resources that it belongs to, such as all.

struct CustomResourceDefinitionVersion : A version of a kind.
1 name string always : v1, v1beta1, ...
2 served bool always : Whether it is served.
3 storage bool always : Whether objects are stored in it.
7 deprecated bool : Whether those who use it are warned.
8 deprecationWarning string? : The warning that they get.
4 schema CustomResourceValidation? : What its objects have.
5 subresources CustomResourceSubresources? : Parts with paths of their own.
6 additionalPrinterColumns []CustomResourceColumnDefinition : What kubectl get shows.
9 selectableFields []SelectableField : What field selectors may name.

struct CustomResourceValidation : What objects have.
1 openAPIV3Schema raw : The schema: types, defaults, limits and rules of every field.

struct CustomResourceSubresources : Parts of objects with paths of their own.
1 status CustomResourceSubresourceStatus? : Whether the status is written by itself.
2 scale CustomResourceSubresourceScale? : How many replicas an object has, for kubectl scale.

struct CustomResourceSubresourceStatus : The status is written by itself.

struct CustomResourceSubresourceScale : Where the number of replicas is.
1 specReplicasPath string always : Of the wish, below .spec.
2 statusReplicasPath string always : Of what is, below .status.
3 labelSelectorPath string? : Of the selector of pods, as a text.

struct CustomResourceColumnDefinition : A column of kubectl get.
1 name string always : Its title.
2 type string always : integer, number, string, boolean or date.
3 format string : How it is written.
4 description string : What it means.
5 priority int32 : More than 0: only with -o wide.
6 jsonPath string always : What is shown.

struct SelectableField : A field that field selectors may name.
1 jsonPath string always : Which.

struct CustomResourceConversion : How objects of one version become those of another.
1 strategy string always : None: only the apiVersion changes.
2 webhook WebhookConversion? : For strategy Webhook, which does not work here.

struct WebhookConversion : A webhook that converts.
2 clientConfig WebhookClientConfig? : Where it is.
3 conversionReviewVersions []string always : The versions of questions that it understands.

struct WebhookClientConfig : Where a webhook is.
3 url string? : At this address.
1 service ServiceReference? : At this service.
2 caBundle bytes : Whose certificates are believed, as base64.

struct ServiceReference : A service.
1 namespace string always : Its namespace.
2 name string always : Its name.
3 path string? : The path there.
4 port int32? : The port there.

struct CustomResourceDefinitionStatus : Whether a kind is served.
1 conditions []CustomResourceDefinitionCondition keys=type : What is the case: NamesAccepted, Established, Terminating.
2 acceptedNames CustomResourceDefinitionNames : What it is called there.
3 storedVersions []string : The versions in which objects were ever stored.
4 observedGeneration int64 : The generation of the definition that this is about.

struct CustomResourceDefinitionCondition : A condition of a definition.
1 type string always : What.
2 status string always : True, False or Unknown.
3 lastTransitionTime time : Since when.
4 reason string : Why, in one word.
5 message string : Why, for people.
6 observedGeneration int64 : The generation of the definition that this is about.
)";
}

}  // namespace dray::api::internal
