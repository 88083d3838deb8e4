// A screen that fails says so, and leaves the rest of the page as it is.

import { Component, type ComponentChildren, type JSX } from "preact";
import { Shape } from "./basics";

interface Props {
  /** What is shown: another one begins afresh. */
  address: string;
  children: ComponentChildren;
}

export class Guard extends Component<Props, { failed: string | null }> {
  state = { failed: null };

  static getDerivedStateFromError(error: unknown): { failed: string } {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  componentDidUpdate(before: Props): void {
    if (this.state.failed !== null && before.address !== this.props.address) this.setState({ failed: null });
  }

  render(): JSX.Element {
    if (this.state.failed === null) return <>{this.props.children}</>;
    return (
      <div class="state state-failing" role="alert">
        <h1><Shape tone="failing" /> This screen has failed</h1>
        <p>An answer of the service is not as the page expects it: {this.state.failed}. The service itself goes on. The same answers come from <code>towpath</code> on the command line.</p>
        <button type="button" onClick={() => location.reload()}>Load the page again</button>
      </div>
    );
  }
}
