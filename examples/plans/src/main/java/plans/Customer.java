// SPDX-License-Identifier: Apache-2.0
package plans;

/**
 * A customer of a tenant. The tenant and the name come from an authenticated request, and contain
 * no colon.
 */
record Customer(String tenant, String name) {

  /** The bucket of this customer. */
  String id() {
    return tenant + ":" + name;
  }
}
