// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(NamedFormatsLib, EveryFormatTakesItsOwn) {
  ExpectOnDevices({
      {"format.dns1123Label().validate('a-1')", "optional.none()"},
      {"format.dns1123Subdomain().validate('a.b-c.d')", "optional.none()"},
      {"format.dns1035Label().validate('a-1')", "optional.none()"},
      {"format.qualifiedName().validate('example.com/My_Name')", "optional.none()"},
      {"format.dns1123LabelPrefix().validate('a-')", "optional.none()"},
      {"format.dns1123SubdomainPrefix().validate('a.b-')", "optional.none()"},
      {"format.dns1035LabelPrefix().validate('a-')", "optional.none()"},
      {"format.labelValue().validate('')", "optional.none()"},
      {"format.uri().validate('https://h/')", "optional.none()"},
      {"format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", "optional.none()"},
      {"format.byte().validate('aGk=')", "optional.none()"},
      {"format.date().validate('2024-02-29')", "optional.none()"},
      {"format.datetime().validate('2024-02-29T23:59:59Z')", "optional.none()"},
  });
}

TEST(NamedFormatsLib, EveryFormatRefusesSomething) {
  ExpectOnDevices({
      {"format.dns1123Label().validate('A').hasValue()", "true"},
      {"format.dns1123Label().validate('').hasValue()", "true"},
      {"format.dns1123Subdomain().validate('a..b').hasValue()", "true"},
      {"format.dns1035Label().validate('1a').hasValue()", "true"},
      {"format.qualifiedName().validate('a/b/c').hasValue()", "true"},
      {"format.dns1123LabelPrefix().validate('-a').hasValue()", "true"},
      {"format.dns1123SubdomainPrefix().validate('A').hasValue()", "true"},
      {"format.dns1035LabelPrefix().validate('1').hasValue()", "true"},
      {"format.labelValue().validate('-a').hasValue()", "true"},
      {"format.uri().validate('h').hasValue()", "true"},
      {"format.uuid().validate('123').hasValue()", "true"},
      {"format.byte().validate('a').hasValue()", "true"},
      {"format.date().validate('2023-02-29').hasValue()", "true"},
      {"format.datetime().validate('2024-02-29').hasValue()", "true"},
  });
}

TEST(NamedFormatsLib, ReasonsAreAListOfTexts) {
  ExpectOnDevices({
      {"format.date().validate('x').value().size()", "1"},
      {"format.named('dns1123Label')", "optional.of(format.dns1123Label())"},
      {"format.named('nope')", "optional.none()"},
      {"format.named('uuid').value() == format.uuid()", "true"},
      {"format.uuid() == format.uri()", "false"},
  });
}

}  // namespace
}  // namespace dray::cel
