// SPDX-License-Identifier: Apache-2.0
package plans;

/** A customer of a tenant. Both come from an authenticated request; neither contains a colon. */
record Customer(String tenant, String name) {

  /** The bucket of this customer. */
  String id() {
    return tenant + ":" + name;
  }
}
