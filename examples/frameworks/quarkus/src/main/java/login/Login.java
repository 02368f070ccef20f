// SPDX-License-Identifier: Apache-2.0
package login;

import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.WebApplicationException;

@Path("/login")
public class Login {

  @POST
  public String login(@QueryParam("password") String password) {
    if (!password.equals("secret")) {
      throw new WebApplicationException(401);
    }
    return "welcome";
  }
}
