import type { Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import {
  channelSettingNames,
  channelSettings,
  requireLeaseOverTimeout,
  type ChannelDefaults,
} from '../channel-settings';
import { milliseconds } from '../delivery/duration';
import { ChannelDefinitionError, DeliveriesOptionsError, UnknownChannelError } from '../errors';
import { adminPathToken, moduleNameToken, requireOneOfAName, requirePathsApart } from '../module-name';
import { duration, refuseUnknown, shown } from '../option-rules';
import type { ResolvedOptions } from '../resolved-options';
import { channelOptionsOf, type ChannelHandler, type DeliveryChannelOptions } from './channel.decorator';

/** A channel of this application with its settings as they hold here. */
export interface Channel extends ChannelDefaults {
  readonly name: string;
  /** In ms. */
  readonly maxAge: number;
  readonly handler: ChannelHandler;
  readonly className: string;
  /** It came into being while the application ran. */
  readonly opened: boolean;
}

/** A module, in a message. */
const called = (name: string | undefined): string =>
  name === undefined ? 'the DeliveriesModule without a name' : `the DeliveriesModule named ${shown(name)}`;

type Provided = ReturnType<DiscoveryService['getProviders']>[number];

/** Every channel of the application, found through Nest wherever it is registered. */
export class ChannelRegistry {
  private readonly byName = new Map<string, Channel>();
  private readonly byClass = new Map<unknown, Channel>();
  private discovered = false;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly options: ResolvedOptions,
  ) {}

  /**
   * Finds the channels and checks them: once, however often it is called.
   * @throws ChannelDefinitionError that names the class
   * @throws DeliveriesOptionsError for settings out of range, for a channel that is configured but does not exist, or for two modules
   *   of one name, or with routes in one place
   */
  discover(): void {
    if (this.discovered) return;
    this.discovered = true;
    const providers = this.discovery.getProviders();
    const modules = providers
      .filter(({ token }) => token === moduleNameToken)
      .map(({ instance }) => instance as string | undefined);
    requireOneOfAName(modules, this.options.name);
    const paths = providers.filter(({ token }) => token === adminPathToken).map(({ instance }) => instance as string);
    requirePathsApart(paths);
    for (const wrapper of providers) {
      const target = channelClassOf(wrapper);
      if (!target || this.byClass.has(target) || !this.isOurs(target, modules)) continue;
      if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
        throw new ChannelDefinitionError(
          `${target.name} is ${wrapper.isTransient ? 'transient' : 'request-scoped (or depends on something that is)'}, but a channel ` +
            'lives as long as the application. Make it and what it injects singletons; what belongs to a request goes into the draft.',
        );
      }
      this.add(target, wrapper.instance as ChannelHandler);
    }
    this.requireKnown('run', this.options.run ?? []);
    this.requireKnown('channels', Object.keys(this.options.channels));
  }

  all(): Channel[] {
    // A host's own start-up hook may record before the module's has run.
    this.discover();
    return [...this.byName.values()];
  }

  /** The channel that a class is. @throws UnknownChannelError */
  of(channelClass: Type): Channel {
    this.discover();
    const channel = this.byClass.get(channelClass);
    if (channel) return channel;
    const declared = typeof channelClass === 'function' ? channelOptionsOf(channelClass) : undefined;
    if (declared && declared.module !== this.options.name) {
      throw new UnknownChannelError(
        `${channelClass.name} is a channel of ${called(declared.module)}, and this recorder is that of ${called(this.options.name)}. Inject the ` +
          "other one, with deliveriesToken(DeliveryRecorder, 'name'), and give it a transaction of its own database.",
      );
    }
    throw new UnknownChannelError(
      `${channelClass?.name ?? String(channelClass)} is not a channel of this application. Decorate it with @DeliveryChannel and ` +
        'add it to the providers of a module that is imported.',
    );
  }

  /**
   * Adds a channel that no class declares, while the application runs.
   * @param className of whoever sends, for the errors
   * @throws ChannelDefinitionError, DeliveriesOptionsError
   */
  open(declared: DeliveryChannelOptions, handler: ChannelHandler, className: string): Channel {
    this.discover();
    const { workers, module: home } = declared;
    if (home !== undefined && home !== this.options.name) {
      throw new ChannelDefinitionError(
        `${className} opens a channel of ${called(home)} in ${called(this.options.name)}. Open it with the RuntimeChannels of the other.`,
      );
    }
    // Options that name the channels to run cannot name one that comes later: it has to say itself that it is to run.
    const elsewhere = this.options.passive || (this.options.run !== undefined && workers === undefined);
    return this.define(elsewhere ? { ...declared, workers: 0 } : declared, handler, className, true);
  }

  /** Takes a channel away that was opened. */
  close(name: string): void {
    if (this.byName.get(name)?.opened) this.byName.delete(name);
  }

  /** @throws ChannelDefinitionError for a channel of a module that is not there, which nobody would ever send */
  private isOurs(target: Type, modules: readonly (string | undefined)[]): boolean {
    const { module: home } = channelOptionsOf(target)!;
    if (modules.includes(home)) return home === this.options.name;
    throw new ChannelDefinitionError(
      `${target.name} is a channel of ${called(home)}, and there is none in this application; there are: ` +
        `${modules.map(called).join(', ')}. Correct the module in @DeliveryChannel, or give a DeliveriesModule that name.`,
    );
  }

  private add(target: Type, handler: ChannelHandler): void {
    this.byClass.set(target, this.define(channelOptionsOf(target)!, handler, target.name, false));
  }

  private define(
    declared: DeliveryChannelOptions,
    handler: ChannelHandler,
    className: string,
    opened: boolean,
  ): Channel {
    const subject = `Channel class ${className}`;
    const { name, module: _home, ...settings } = declared;
    if (typeof name !== 'string' || !/^[A-Za-z0-9._:-]{1,160}$/.test(name)) {
      throw new ChannelDefinitionError(
        `${subject}: name must be 1 to 160 of A-Z a-z 0-9 . _ : - and is stored with each delivery; got ${shown(name)}. Rename it.`,
      );
    }
    for (const method of ['deliveries', 'send'] as const) {
      if (typeof handler[method] === 'function') continue;
      throw new ChannelDefinitionError(
        `${subject} (channel "${name}") lacks the method ${method}(). Implement ChannelHandler, which says what each method gets and returns.`,
      );
    }
    const other = this.byName.get(name);
    if (other) {
      throw new ChannelDefinitionError(
        `${className} and ${other.className} are both channels named "${name}". Give one of them another name: deliveries of one would be sent by the other.`,
      );
    }
    const channel = { ...this.settingsOf(subject, name, settings), name, handler, className, opened };
    this.byName.set(name, channel);
    return channel;
  }

  private settingsOf(subject: string, name: string, declared: object): ChannelDefaults & { maxAge: number } {
    const { channels } = this.options;
    // Own ones: a channel may be called as something that every object has.
    const { override = {} } = { override: Object.hasOwn(channels, name) ? channels[name] : undefined };
    const place = `DeliveriesModule: channels[${JSON.stringify(name)}]`;
    refuseUnknown(subject, declared, [...channelSettingNames, 'name', 'module']);
    refuseUnknown(place, override, channelSettingNames);
    const own = channelSettings(subject, declared, this.options.channelDefaults);
    const settings = channelSettings(place, override, own);
    requireLeaseOverTimeout(subject, settings);
    const maxAge = (override as { maxAge?: unknown }).maxAge ?? (declared as { maxAge?: unknown }).maxAge;
    if (milliseconds(maxAge) === undefined) {
      throw new DeliveriesOptionsError(
        `${subject} (channel "${name}"): maxAge must say how long a delivery is still worth sending; got ${shown(maxAge)}. Write, for example, maxAge: '1d'.`,
      );
    }
    return { ...settings, maxAge: duration(subject, 'maxAge', maxAge, 1, 3_650 * 86_400_000) };
  }

  private requireKnown(option: string, names: readonly string[]): void {
    const unknown = names.find((name) => !this.byName.has(name));
    if (unknown === undefined) return;
    const known = [...this.byName.keys()].join(', ') || 'none';
    throw new DeliveriesOptionsError(
      `DeliveriesModule: ${option} names channel "${unknown}", which no class of this application declares; there are: ${known}. Correct the name.`,
    );
  }
}

/**
 * The decorated class that a provider stands for: a class provider's own; otherwise its token (`{ provide: TheChannel,
 * useValue }`, also of a test that puts something else in the channel's place), or the class of what a factory gave.
 */
function channelClassOf({ metatype, token, instance }: Provided): Type | undefined {
  const candidates: unknown[] = [metatype, token, (instance as object | null | undefined)?.constructor];
  return candidates.find((each): each is Type => typeof each === 'function' && channelOptionsOf(each) !== undefined);
}
