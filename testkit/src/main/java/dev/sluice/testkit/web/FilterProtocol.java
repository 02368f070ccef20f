// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

public enum FilterProtocol {
  HTTP_1_1 {
    @Override
    AbortingClient client(FilteredSite site) {
      return new Http1Client(site);
    }
  },
  /** */
  HTTP_2 {
    @Override
    AbortingClient client(FilteredSite site) throws Exception {
      return new Http2Client(site);
    }
  };

  abstract AbortingClient client(FilteredSite site) throws Exception;
}
