// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LimitPropertiesTest {

  private final List<String> warnings = new ArrayList<>();

  private Limits load(Object names, Object limits, Object overrides) {
    return LimitProperties.load("sluice", names, limits, overrides, warnings::add);
  }

  private static Map<String, Object> quota(Object burst, Object count, Object period) {
    return Map.of("burst", burst, "count", count, "period", period);
  }

  @Test
  void limits_namesAndOverrides_areReadAsInFiles() {
    Limits limits =
        load(
            Map.of("0", Map.of("number", 1001, "name", "Reports", "id", "string")),
            Map.of("Reports", quota(5, "5", "1m")),
            List.of(
                Map.of(
                    "Reports",
                    Map.of("burst", 9, "count", 9, "period", "1m", "ids", List.of("ann")))));

    var name = limits.catalogue().get("Reports");
    assertThat(limits.defaultFor(name)).isEqualTo(Quota.per(5, Duration.ofMinutes(1)));
    assertThat(limits.quotaFor(name, "ann")).isEqualTo(Quota.per(9, Duration.ofMinutes(1)));
    assertThat(warnings).isEmpty();
  }

  @Test
  void mistakes_haveTheMessagesOfFiles_andTheNameOfTheirProperty() {
    assertThatThrownBy(
            () ->
                load(
                    null,
                    Map.of(
                        "LoginsPerIPAdress", quota(5, 5, "1m"),
                        "LoginsPerIPAddress", quota(0, "many", "1 minute"),
                        "ApiCallsPerKey", Map.of("burst", 5, "count", 5)),
                    null))
        .isInstanceOfSatisfying(
            LimitPropertiesException.class,
            e ->
                assertThat(e.problems())
                    .anyMatch(
                        one ->
                            one.startsWith("sluice.limits.LoginsPerIPAdress: found the name")
                                && one.contains("did you mean \"LoginsPerIPAddress\""))
                    .anyMatch(one -> one.startsWith("sluice.limits.LoginsPerIPAddress.burst: "))
                    .anyMatch(
                        one ->
                            one.startsWith(
                                "sluice.limits.LoginsPerIPAddress.count: found \"many\", expected"
                                    + " a whole number"))
                    .anyMatch(one -> one.startsWith("sluice.limits.LoginsPerIPAddress.period: "))
                    .contains("sluice.limits.ApiCallsPerKey: the field period is missing")
                    .hasSize(5));
  }

  @Test
  void fieldsOfAServersReservations_areMistakes() {
    Map<String, Object> limit = new HashMap<>(quota(5, 5, "1h"));
    limit.put("lapse", "give-back");
    limit.put("longestReservation", "20m");
    limit.put("debt", 2);
    String why = ": only a Sluice server has reservations that expire; remove this property";
    assertThatThrownBy(() -> load(null, Map.of("LoginsPerIPAddress", limit), null))
        .isInstanceOfSatisfying(
            LimitPropertiesException.class,
            e ->
                assertThat(e.problems())
                    .containsExactlyInAnyOrder(
                        "sluice.limits.LoginsPerIPAddress.lapse" + why,
                        "sluice.limits.LoginsPerIPAddress.longestReservation" + why));
  }

  @Test
  void mistakeInAList_namesItsItem() {
    assertThatThrownBy(
            () ->
                load(
                    null,
                    Map.of("LoginsPerIPAddress", quota(5, 5, "1m")),
                    List.of(
                        Map.of(
                            "LoginsPerIPAddress",
                            Map.of(
                                "burst",
                                9,
                                "count",
                                9,
                                "period",
                                "1m",
                                "ids",
                                List.of("192.0.2.1", "localhost"))))))
        .hasMessageStartingWith("sluice.overrides[0].LoginsPerIPAddress.ids[1]: ");
  }

  @Test
  void idThatYamlHasChanged_isRefused() {
    List<Object> ids = List.of("0123", 83, true, Map.of("id", 1000.0, "comment", 7));
    assertThatThrownBy(
            () ->
                load(
                    null,
                    Map.of("ApiCallsPerKey", quota(5, 5, "1m")),
                    List.of(
                        Map.of(
                            "ApiCallsPerKey",
                            Map.of("burst", 9, "count", 9, "period", "1m", "ids", ids)))))
        .isInstanceOfSatisfying(
            LimitPropertiesException.class,
            e ->
                assertThat(e.problems())
                    .allMatch(one -> one.contains("expected a text in quotes"))
                    .extracting(one -> one.substring(0, one.indexOf(", expected")))
                    .containsExactlyInAnyOrder(
                        "sluice.overrides[0].ApiCallsPerKey.ids[1]: found 83",
                        "sluice.overrides[0].ApiCallsPerKey.ids[2]: found true",
                        "sluice.overrides[0].ApiCallsPerKey.ids[3].id: found 1000.0"));
  }

  @Test
  void doubt_isAWarning() {
    Limits limits = load(null, Map.of("ApiCallsPerKey", quota(1, 600_000_000, "1s")), null);

    assertThat(limits.configured()).hasSize(1);
    assertThat(warnings)
        .singleElement()
        .asString()
        .startsWith("sluice.limits.ApiCallsPerKey.count: ");
  }
}
