// SPDX-License-Identifier: Apache-2.0
package login;

import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;

@Path("/login")
public class Login {

  @POST
  public String login() {
    return "welcome";
  }
}
